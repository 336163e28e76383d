"""Types of single values with a form of their own in JSON: quantities, times, IntOrString."""
