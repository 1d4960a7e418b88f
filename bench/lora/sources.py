"""Where problem P, its algorithms and its data come from."""

from __future__ import annotations

from ratiobench.bench.family.source import Source

SOURCES = (
    Source(
        "main paper",
        "Online Scheduling and Pricing for Multi-LoRA Fine-Tuning Tasks",
        (
            "Ying Zheng",
            "Lei Jiao",
            "Han Yang",
            "Lulu Chen",
            "Ying Liu",
            "Yuxiao Wang",
            "Yuedong Xu",
            "Xin Wang",
            "Zongpeng Li",
        ),
        "53rd International Conference on Parallel Processing (ICPP '24)",
        2024,
        "the problem, pdFTSP, the theorems, and the baselines EFT and NTM (section 5.1, where no source is named)",
        doi="10.1145/3673038.3673083",
    ),
    Source(
        "Titan",
        "Titan: A Scheduler for Foundation Model Fine-tuning Workloads",
        ("Wei Gao", "Peng Sun", "Yonggang Wen", "Tianwei Zhang"),
        "13th Symposium on Cloud Computing (SoCC '22)",
        2022,
        "`titan`, as the main paper adapts it: a mixed-integer programme at every slot",
        pages="348-354",
        doi="10.1145/3542929.3563460",
    ),
    Source(
        "Eris",
        "Eris: An Online Auction for Scheduling Unbiased Distributed Learning Over Edge Networks",
        ("Jinlong Pang", "Ziyi Han", "et al."),
        "IEEE Transactions on Mobile Computing 23(6)",
        2024,
        "the idea of `eris`, an auction in its style; the formula is not its own",
        pages="7196-7209",
        doi="10.1109/TMC.2023.3333368",
        kind="article",
    ),
    Source(
        "PAI trace",
        "MLaaS in the Wild: Workload Analysis and Scheduling in Large-Scale Heterogeneous GPU Clusters",
        ("Qizhen Weng", "Wencong Xiao", "et al."),
        "19th USENIX Symposium on Networked Systems Design and Implementation (NSDI '22)",
        2022,
        "arrivals `pai`",
        link="https://www.usenix.org/conference/nsdi22/presentation/weng",
    ),
    Source(
        "Philly trace",
        "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training Workloads",
        ("Myeongjae Jeon", "Shivaram Venkataraman", "et al."),
        "USENIX Annual Technical Conference (ATC '19)",
        2019,
        "arrivals `philly`",
        link="https://www.usenix.org/conference/atc19/presentation/jeon",
    ),
    Source(
        "Helios trace",
        "Characterization and Prediction of Deep Learning Workloads in Large-Scale GPU Datacenters",
        ("Qinghao Hu", "Peng Sun", "et al."),
        "International Conference for High Performance Computing, Networking, Storage and Analysis (SC '21)",
        2021,
        "arrivals `helios`",
        doi="10.1145/3458817.3476223",
    ),
    Source(
        "electricity prices",
        "Forecasting day-ahead electricity prices: A review of state-of-the-art algorithms, best practices and an "
        "open-access benchmark",
        ("Jesus Lago", "Grzegorz Marcjasz", "Bart De Schutter", "Rafał Weron"),
        "Applied Energy 293",
        2021,
        "tariffs",
        pages="116983",
        doi="10.1016/j.apenergy.2021.116983",
        kind="article",
    ),
)
"""Every source, the one that the family is named after in texts first."""
