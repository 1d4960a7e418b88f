"""Family `edgeflow`: elastic training jobs with deadlines on cloud GPUs and idle edge servers."""
