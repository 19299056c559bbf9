"""
Campaigns
=========

Many rules at once: processes that may be killed, and clusters.

In order: `workers`, `cluster_worker`, `cluster`, `law`, `advice`, `campaign`, `worker`.
Doors: `campaign`, `law`.
"""
