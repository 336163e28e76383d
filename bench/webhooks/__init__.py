"""What a webhook costs, in process and over TLS, beside one of controller-runtime; and rotation under load."""
