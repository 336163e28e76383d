"""What CEL expressions cost: as Kubernetes estimates it from a schema, and as bounds before an expression runs."""
