"""The containers of pods: what they run, in which environment, with which resources and privileges."""
