"""Certificates of the webhook server: managed by us in a Secret, or files that another program renews."""
