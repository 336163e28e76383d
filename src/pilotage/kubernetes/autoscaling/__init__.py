"""The kinds of the group autoscaling: HorizontalPodAutoscalers in two versions, kept in the newer one."""
