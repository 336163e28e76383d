"""HTTP/2 as far as gRPC needs it, without I/O: frames, streams with flow control, limits against abuse."""
