"""The kinds of the group batch: Jobs and CronJobs."""
