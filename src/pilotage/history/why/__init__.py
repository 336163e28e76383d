"""Why an object was reconciled or not, and who wrote its fields: decided from stories and plain values."""
