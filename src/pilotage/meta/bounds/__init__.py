"""What bounds the time, work and memory of a program: durations, counts, backoff, token buckets, bounded mappings."""
