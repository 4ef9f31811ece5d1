# SPDX-License-Identifier: Apache-2.0
"""dashboard_paths.py - what the dashboard of a Ray cluster tells of it: a secret of a job may be in none of these answers."""

PATHS = ("/api/v0/nodes", "/nodes?view=details", "/nodes?view=summary", "/api/jobs/", "/api/cluster_status", "/api/v0/workers?detail=1",
         "/api/v0/tasks?detail=1", "/api/v0/actors?detail=1", "/api/v0/jobs?detail=1", "/api/v0/runtime_envs", "/api/version",
         "/api/component_activities", "/logical/actors")
