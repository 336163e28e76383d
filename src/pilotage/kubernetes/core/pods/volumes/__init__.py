"""The volumes of pods: their sources, their defaults, and where containers have them."""
