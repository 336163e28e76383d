"""The transport over HTTPS: requests with credentials, retries and metrics; responses parsed, warnings logged."""
