"""Scalar types with a special JSON form: quantities, times, IntOrString."""
