"""Where family `edgeflow`, its policies and its data come from."""

from __future__ import annotations

from ratiobench.bench.family.source import Source

_OSDI, _NSDI = (
    "USENIX Symposium on Operating Systems Design and Implementation",
    "USENIX Symposium on Networked Systems",
)

# Every source
SOURCES = (
    Source(
        "EdgeFlow",
        "Cloud-edge Coordinated Scheduling Method for Deep Learning Jobs",
        ("Diandian Gu", "Xin Jin", "Xuanzhe Liu"),
        "Journal of Software 36(12), in Chinese",
        2025,
        "the problem, the simulator's events and overheads, the baselines; its off-loading rule is reconstructed",
        link="https://www.jos.org.cn/1000-9825/7432.htm",
        kind="article",
    ),
    Source(
        "ElasticFlow",
        "ElasticFlow: An Elastic Serverless Training Platform for Distributed Deep Learning",
        ("Diandian Gu", "Yihao Zhao", "Yinmin Zhong", "et al."),
        "28th International Conference on Architectural Support for Programming Languages and Operating Systems "
        "(ASPLOS '23)",
        2023,
        "`elasticflow`, throughput and overhead tables, six prepared traces, and the figures printed beside ours",
        doi="10.1145/3575693.3575721",
    ),
    Source(
        "Gandiva",
        "Gandiva: Introspective Cluster Scheduling for Deep Learning",
        ("Wencong Xiao", "Romil Bhardwaj", "Ramachandran Ramjee", "et al."),
        f"13th {_OSDI} (OSDI '18)",
        2018,
        "`gandiva`, without packing, growing, and the artifact's `gandiva_node_set_adjust`",
        link="https://www.usenix.org/conference/osdi18/presentation/xiao",
    ),
    Source(
        "Tiresias",
        "Tiresias: A GPU Cluster Manager for Distributed Deep Learning",
        ("Juncheng Gu", "Mosharaf Chowdhury", "Kang G. Shin", "et al."),
        f"16th {_NSDI} Design and Implementation (NSDI '19)",
        2019,
        "`tiresias`",
        link="https://www.usenix.org/conference/nsdi19/presentation/gu",
    ),
    Source(
        "AFS",
        "Elastic Resource Sharing for Distributed Deep Learning",
        ("Changho Hwang", "Taehyun Kim", "Sunghyun Kim", "et al."),
        f"18th {_NSDI} Design and Implementation (NSDI '21)",
        2021,
        "`afs`",
        link="https://www.usenix.org/conference/nsdi21/presentation/hwang",
    ),
    Source(
        "PAI jobs",
        "MLaaS in the Wild: Workload Analysis and Scheduling in Large-Scale Heterogeneous GPU Clusters",
        ("Qizhen Weng", "Wencong Xiao", "et al."),
        f"19th {_NSDI} Design and Implementation (NSDI '22)",
        2022,
        "days of `pai`",
        link="https://www.usenix.org/conference/nsdi22/presentation/weng",
    ),
    Source(
        "Philly jobs",
        "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training Workloads",
        ("Myeongjae Jeon", "Shivaram Venkataraman", "et al."),
        "USENIX Annual Technical Conference (ATC '19)",
        2019,
        "days of `philly`",
        link="https://www.usenix.org/conference/atc19/presentation/jeon",
    ),
)
