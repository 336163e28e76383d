"""What bounds the work and the memory of a program: backoff, token buckets, mappings of bounded size."""
