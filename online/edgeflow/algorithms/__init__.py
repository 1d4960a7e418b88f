"""Online policies for elastic training jobs with deadlines; each file registers one."""
