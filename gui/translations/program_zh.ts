<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>Attention</name>
    <message>
        <source>Policy</source>
        <translation>策略</translation>
    </message>
    <message>
        <source>Kept now</source>
        <translation>当前保留</translation>
    </message>
    <message>
        <source>Tokens that the policy keeps for this head at this step</source>
        <translation>该策略在此步为此头保留的 token</translation>
    </message>
    <message>
        <source>Mass now</source>
        <translation>当前质量</translation>
    </message>
    <message>
        <source>Attention of this head and step that falls on kept tokens; 1 is all of it</source>
        <translation>此头在此步落在保留 token 上的注意力；1 表示全部</translation>
    </message>
    <message>
        <source>Error now</source>
        <translation>当前误差</translation>
    </message>
    <message>
        <source>Relative error of the attention output of this head and step</source>
        <translation>此头在此步的注意力输出的相对误差</translation>
    </message>
    <message>
        <source>Mean mass</source>
        <translation>平均质量</translation>
    </message>
    <message>
        <source>Mean over all decode steps and query heads of the layer</source>
        <translation>该层所有解码步和查询头的平均值</translation>
    </message>
    <message>
        <source>Least mass</source>
        <translation>最小质量</translation>
    </message>
    <message>
        <source>Mean error</source>
        <translation>平均误差</translation>
    </message>
    <message>
        <source>Bytes</source>
        <translation>字节</translation>
    </message>
    <message>
        <source>Of this layer after the last step, with the policy&apos;s metadata</source>
        <translation>最后一步之后该层的字节数，含策略的元数据</translation>
    </message>
    <message>
        <source>Full</source>
        <translation>完整</translation>
    </message>
    <message>
        <source>Of the full cache of this layer</source>
        <translation>该层的完整缓存</translation>
    </message>
</context>
<context>
    <name>Blocks</name>
    <message>
        <source>granted to</source>
        <translation>分配给</translation>
    </message>
    <message>
        <source>prefix hit of</source>
        <translation>前缀命中，属于</translation>
    </message>
    <message>
        <source>emptied and freed by</source>
        <translation>清空并释放，由</translation>
    </message>
    <message>
        <source>freed by the preemption of</source>
        <translation>因抢占而释放，属于</translation>
    </message>
    <message>
        <source>freed by the end of</source>
        <translation>因结束而释放，属于</translation>
    </message>
    <message>
        <source>enters the prefix cache, filled by</source>
        <translation>进入前缀缓存，写满者</translation>
    </message>
    <message>
        <source>evicted from the prefix cache</source>
        <translation>从前缀缓存中淘汰</translation>
    </message>
    <message>
        <source>Block</source>
        <translation>块</translation>
    </message>
    <message>
        <source>State</source>
        <translation>状态</translation>
    </message>
    <message>
        <source>Held by requests</source>
        <translation>持有请求</translation>
    </message>
    <message>
        <source>Holders</source>
        <translation>持有者数</translation>
    </message>
    <message>
        <source>For</source>
        <translation>时长</translation>
    </message>
    <message>
        <source>Time since it was last allocated or freed</source>
        <translation>自上次被取得或释放以来的时间</translation>
    </message>
    <message>
        <source>In the prefix cache</source>
        <translation>在前缀缓存中</translation>
    </message>
    <message>
        <source>held</source>
        <translation>被持有</translation>
    </message>
    <message>
        <source>cached</source>
        <translation>已缓存</translation>
    </message>
    <message>
        <source>yes</source>
        <translation>是</translation>
    </message>
    <message>
        <source>no</source>
        <translation>否</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>What happened</source>
        <translation>发生了什么</translation>
    </message>
    <message>
        <source>Request</source>
        <translation>请求</translation>
    </message>
</context>
<context>
    <name>Compare</name>
    <message>
        <source>TTFT p50</source>
        <translation>TTFT p50</translation>
    </message>
    <message>
        <source>TTFT p99</source>
        <translation>TTFT p99</translation>
    </message>
    <message>
        <source>TPOT p50</source>
        <translation>TPOT p50</translation>
    </message>
    <message>
        <source>TPOT p99</source>
        <translation>TPOT p99</translation>
    </message>
    <message>
        <source>Output tokens per s</source>
        <translation>每秒输出 token</translation>
    </message>
    <message>
        <source>Completed</source>
        <translation>已完成</translation>
    </message>
    <message>
        <source>Rejected</source>
        <translation>被拒绝</translation>
    </message>
    <message>
        <source>Preemptions</source>
        <translation>抢占次数</translation>
    </message>
    <message>
        <source>Recomputed tokens</source>
        <translation>重算 token</translation>
    </message>
    <message>
        <source>Prefix hit tokens</source>
        <translation>前缀命中 token</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>步数</translation>
    </message>
    <message>
        <source>Makespan</source>
        <translation>总时长</translation>
    </message>
    <message>
        <source>running</source>
        <translation>运行</translation>
    </message>
    <message>
        <source>waiting</source>
        <translation>等待</translation>
    </message>
    <message>
        <source>as opened</source>
        <translation>与打开时相同</translation>
    </message>
    <message>
        <source>At the cursor</source>
        <translation>光标处</translation>
    </message>
    <message>
        <source>Mean of the run</source>
        <translation>全程平均</translation>
    </message>
    <message>
        <source>%1 less A</source>
        <translation>%1 减 A</translation>
    </message>
    <message>
        <source>The difference from A</source>
        <translation>与 A 的差</translation>
    </message>
</context>
<context>
    <name>Fits</name>
    <message>
        <source>yes</source>
        <translation>是</translation>
    </message>
    <message>
        <source>no</source>
        <translation>否</translation>
    </message>
    <message>
        <source>%1 %2</source>
        <comment>number, unit</comment>
        <translation>%1 %2</translation>
    </message>
    <message>
        <source>Weights and buffers</source>
        <translation>权重与缓冲区</translation>
    </message>
    <message>
        <source>Outside the engine&apos;s share</source>
        <translation>引擎份额之外</translation>
    </message>
    <message>
        <source>Longest request</source>
        <translation>最长请求</translation>
    </message>
    <message>
        <source>Weights and buffers leave no memory for one token of KV cache</source>
        <translation>权重与缓冲区之外放不下一个 token 的 KV 缓存</translation>
    </message>
    <message>
        <source>The memory left by the pool rule is too small for what must fit into it</source>
        <translation>内存池规则留下的空间放不下须放入的内容</translation>
    </message>
    <message>
        <source>A request of the engine&apos;s maximum length does not fit into the empty pool</source>
        <translation>达到引擎上限的请求放不进空的内存池</translation>
    </message>
    <message>
        <source>needs %1, has %2</source>
        <translation>需要 %1，现有 %2</translation>
    </message>
    <message>
        <source>%1. Each of these changes solves it: %2</source>
        <translation>%1。以下任一设置即可解决：%2</translation>
    </message>
    <message>
        <source>Memory suffices to start</source>
        <translation>内存足以启动</translation>
    </message>
    <message>
        <source>Weights, buffers and a longest request fit</source>
        <translation>权重、缓冲区和一个最长请求都放得下</translation>
    </message>
    <message>
        <source>Targets hold</source>
        <translation>达到目标</translation>
    </message>
    <message>
        <source>At least %1 of the requests meet all targets, and every percentile holds</source>
        <translation>至少 %1 的请求满足全部目标，且每个百分位数都达到</translation>
    </message>
    <message>
        <source>Every percentile holds</source>
        <translation>每个百分位数都达到</translation>
    </message>
    <message>
        <source>no request</source>
        <translation>没有请求</translation>
    </message>
    <message>
        <source>a request did not complete</source>
        <translation>未完成的请求</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <comment>yes or no, latency</comment>
        <translation>%1：%2</translation>
    </message>
    <message>
        <source>%1 at most %2</source>
        <comment>TTFT p99, time</comment>
        <translation>%1 不超过 %2</translation>
    </message>
    <message>
        <source>Over the requests that arrive in the window; a request that does not complete counts as slower than any other</source>
        <translation>只计在时间窗内到达的请求；未完成的请求算作最慢</translation>
    </message>
    <message>
        <source>%1 %2</source>
        <comment>amount, currency</comment>
        <translation>%1 %2</translation>
    </message>
    <message>
        <source>GPUs</source>
        <translation>设备数</translation>
    </message>
    <message>
        <source>Ranks of all replicas</source>
        <translation>所有副本的并行进程数</translation>
    </message>
    <message>
        <source>Nodes</source>
        <translation>节点数</translation>
    </message>
    <message>
        <source>Nodes for these GPUs, including spare nodes</source>
        <translation>所占节点及备用节点</translation>
    </message>
    <message>
        <source>Cost per hour</source>
        <translation>每小时费用</translation>
    </message>
    <message>
        <source>For all of these nodes</source>
        <translation>所有这些节点的费用</translation>
    </message>
    <message>
        <source>Cost per million output tokens</source>
        <translation>每百万输出 token 费用</translation>
    </message>
    <message>
        <source>At the mean output rate of the whole run</source>
        <translation>按整次运行的平均输出速率计</translation>
    </message>
    <message>
        <source>No rejections or preemptions</source>
        <translation>无拒绝</translation>
    </message>
    <message>
        <source>No request was rejected or preempted</source>
        <translation>没有请求被拒绝或抢占</translation>
    </message>
    <message>
        <source>Saturated</source>
        <translation>饱和</translation>
    </message>
    <message>
        <source>Requests arrive faster than they are served</source>
        <translation>请求到达快于处理</translation>
    </message>
</context>
<context>
    <name>Headline</name>
    <message>
        <source>TTFT p50</source>
        <translation>TTFT p50</translation>
    </message>
    <message>
        <source>Time from arrival to the first token, median</source>
        <translation>从到达到首个 token 的时间，中位数</translation>
    </message>
    <message>
        <source>TTFT p99</source>
        <translation>TTFT p99</translation>
    </message>
    <message>
        <source>Time from arrival to the first token, 99th percentile</source>
        <translation>从到达到首个 token 的时间，第 99 百分位数</translation>
    </message>
    <message>
        <source>TPOT p50</source>
        <translation>TPOT p50</translation>
    </message>
    <message>
        <source>Time per further output token, median</source>
        <translation>此后每个输出 token 的时间，中位数</translation>
    </message>
    <message>
        <source>Output rate</source>
        <translation>输出速率</translation>
    </message>
    <message>
        <source>%1 tokens/s</source>
        <translation>%1 token/秒</translation>
    </message>
    <message>
        <source>Output tokens of completed requests over the whole run</source>
        <translation>已完成请求的输出 token 数除以整个运行时间</translation>
    </message>
    <message>
        <source>Mean batch</source>
        <translation>平均批大小</translation>
    </message>
    <message>
        <source>Requests running at once, mean over time</source>
        <translation>同时运行的请求数，按时间平均</translation>
    </message>
    <message>
        <source>Completed</source>
        <translation>已完成</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 / 共 %2</translation>
    </message>
    <message>
        <source>Requests that completed, of those that arrived</source>
        <translation>到达的请求中服务到结束的请求</translation>
    </message>
    <message>
        <source>Rejected</source>
        <translation>已拒绝</translation>
    </message>
    <message>
        <source>Requests that exceed the pool or the model&apos;s length limit</source>
        <translation>内存池或模型长度容纳不下的请求</translation>
    </message>
    <message>
        <source>Preemptions</source>
        <translation>抢占次数</translation>
    </message>
    <message>
        <source>How often a running request was preempted</source>
        <translation>运行中的请求失去内存的次数</translation>
    </message>
    <message>
        <source>Prefix hits</source>
        <translation>前缀命中</translation>
    </message>
    <message>
        <source>%1 tokens</source>
        <translation>%1 token</translation>
    </message>
    <message>
        <source>Prompt tokens found in the cache at first admission</source>
        <translation>首次准入时在缓存中找到的提示 token</translation>
    </message>
    <message>
        <source>Makespan</source>
        <translation>总时长</translation>
    </message>
    <message>
        <source>From the first arrival to the last finish</source>
        <translation>从首个请求到达到最后一个请求完成</translation>
    </message>
    <message>
        <source>Targets met</source>
        <translation>达标率</translation>
    </message>
    <message>
        <source>Share of requests that met all latency targets</source>
        <translation>满足全部延迟目标的请求所占比例</translation>
    </message>
    <message>
        <source>metadata</source>
        <translation>元数据</translation>
    </message>
    <message>
        <source>live</source>
        <translation>有效</translation>
    </message>
    <message>
        <source>reserved</source>
        <translation>预留</translation>
    </message>
    <message>
        <source>hole</source>
        <translation>空洞</translation>
    </message>
    <message>
        <source>tail</source>
        <translation>尾部</translation>
    </message>
    <message>
        <source>padding</source>
        <translation>填充</translation>
    </message>
    <message>
        <source>internal</source>
        <translation>内部碎片</translation>
    </message>
    <message>
        <source>cached</source>
        <translation>已缓存</translation>
    </message>
    <message>
        <source>stranded</source>
        <translation>搁置</translation>
    </message>
    <message>
        <source>free</source>
        <translation>空闲</translation>
    </message>
    <message>
        <source>block tables, maps and scales stored in the pool</source>
        <translation>位于内存池中的表、映射和缩放系数（metadata）</translation>
    </message>
    <message>
        <source>allocated, written, and kept by at least one request</source>
        <translation>被占用、已写入，且有请求仍保留它（live）</translation>
    </message>
    <message>
        <source>allocated for tokens that are still to be written</source>
        <translation>已被占用，留给尚未写入的 token（reserved）</translation>
    </message>
    <message>
        <source>written and evicted, but the block is still held</source>
        <translation>写入后已被丢弃，但所在的块仍被占用（hole）</translation>
    </message>
    <message>
        <source>rest of a held block that will never be written</source>
        <translation>被占用的块中永远不会写入的剩余部分（tail）</translation>
    </message>
    <message>
        <source>no token can be stored here: null block and remainders</source>
        <translation>不能存放 token：空块和余数部分（padding）</translation>
    </message>
    <message>
        <source>reserved beyond what the request will ever use</source>
        <translation>预留得超出请求最终用量的部分（internal）</translation>
    </message>
    <message>
        <source>held by no request; its content can still be hit</source>
        <translation>无人占用，内容仍可被再次命中（cached）</translation>
    </message>
    <message>
        <source>held by no request, yet an allocation failed for lack of memory</source>
        <translation>无人占用，却有一次分配因内存不足被拒绝（stranded）</translation>
    </message>
    <message>
        <source>held by no request, available at once</source>
        <translation>无人占用，可立即使用（free）</translation>
    </message>
</context>
<context>
    <name>Plan</name>
    <message>
        <source>%1: %2 of %3</source>
        <translation>%1：%2，上限 %3</translation>
    </message>
    <message>
        <source>best</source>
        <translation>最佳</translation>
    </message>
    <message>
        <source>fewer</source>
        <translation>更少</translation>
    </message>
    <message>
        <source>more</source>
        <translation>更多</translation>
    </message>
    <message>
        <source>runner-up</source>
        <translation>次选</translation>
    </message>
    <message>
        <source>rule of thumb: %1</source>
        <translation>经验法则：%1</translation>
    </message>
    <message>
        <source> (load x %1)</source>
        <translation>（负载 × %1）</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <translation>%1（%2）</translation>
    </message>
    <message>
        <source>Role</source>
        <translation>角色</translation>
    </message>
    <message>
        <source>Deployment</source>
        <translation>部署</translation>
    </message>
    <message>
        <source>GPUs</source>
        <translation>GPU 数</translation>
    </message>
    <message>
        <source>Cost per hour</source>
        <translation>每小时费用</translation>
    </message>
    <message>
        <source>In time</source>
        <translation>按时</translation>
    </message>
    <message>
        <source>Share of requests that met the targets</source>
        <translation>达到目标的请求的比例</translation>
    </message>
    <message>
        <source>Meets</source>
        <translation>达标</translation>
    </message>
    <message>
        <source>Preemptions</source>
        <translation>抢占次数</translation>
    </message>
    <message>
        <source>Targets</source>
        <translation>目标</translation>
    </message>
    <message>
        <source>yes</source>
        <translation>是</translation>
    </message>
    <message>
        <source>no</source>
        <translation>否</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>步</translation>
    </message>
    <message>
        <source>Tried</source>
        <translation>尝试</translation>
    </message>
    <message>
        <source>Why</source>
        <translation>原因</translation>
    </message>
    <message>
        <source>Outcome</source>
        <translation>结果</translation>
    </message>
</context>
<context>
    <name>Requests</name>
    <message>
        <source>not arrived</source>
        <translation>未到达</translation>
    </message>
    <message>
        <source>rejected</source>
        <translation>被拒绝</translation>
    </message>
    <message>
        <source>unfinished</source>
        <translation>未完成</translation>
    </message>
    <message>
        <source>completed</source>
        <translation>已完成</translation>
    </message>
    <message>
        <source>Request</source>
        <translation>请求</translation>
    </message>
    <message>
        <source>Position in the trace, from 0</source>
        <translation>在轨迹中的位置，从 0 开始</translation>
    </message>
    <message>
        <source>Status</source>
        <translation>状态</translation>
    </message>
    <message>
        <source>Arrival</source>
        <translation>到达</translation>
    </message>
    <message>
        <source>Time since the first arrival</source>
        <translation>自首个到达以来的时间</translation>
    </message>
    <message>
        <source>Queue</source>
        <translation>排队</translation>
    </message>
    <message>
        <source>From arrival to the first step with it</source>
        <translation>从到达到首次被调度</translation>
    </message>
    <message>
        <source>TTFT</source>
        <translation>TTFT</translation>
    </message>
    <message>
        <source>From arrival to the first token</source>
        <translation>从到达到首个 token</translation>
    </message>
    <message>
        <source>TPOT</source>
        <translation>TPOT</translation>
    </message>
    <message>
        <source>Time per further output token</source>
        <translation>每个后续输出 token 的时间</translation>
    </message>
    <message>
        <source>End to end</source>
        <translation>端到端</translation>
    </message>
    <message>
        <source>From arrival to the last token</source>
        <translation>从到达到最后一个 token</translation>
    </message>
    <message>
        <source>Input</source>
        <translation>输入</translation>
    </message>
    <message>
        <source>Prompt tokens</source>
        <translation>提示 token</translation>
    </message>
    <message>
        <source>Output</source>
        <translation>输出</translation>
    </message>
    <message>
        <source>Output tokens</source>
        <translation>输出 token</translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation>Token 数</translation>
    </message>
    <message>
        <source>Prompt and output tokens</source>
        <translation>提示与输出 token</translation>
    </message>
    <message>
        <source>Preemptions</source>
        <translation>抢占次数</translation>
    </message>
    <message>
        <source>Computed</source>
        <translation>已计算</translation>
    </message>
    <message>
        <source>Tokens computed, those computed again included</source>
        <translation>计算的 token，含重算</translation>
    </message>
    <message>
        <source>Prefix hit</source>
        <translation>前缀命中</translation>
    </message>
    <message>
        <source>Prompt tokens found in the cache at first admission</source>
        <translation>首次接纳时在缓存中找到的提示 token</translation>
    </message>
    <message>
        <source>Most held</source>
        <translation>最大占用</translation>
    </message>
    <message>
        <source>Most memory that it held at one moment</source>
        <translation>某一时刻占用的最大内存</translation>
    </message>
    <message>
        <source>Held (byte s)</source>
        <translation>占用（字节·秒）</translation>
    </message>
    <message>
        <source>Held memory times time</source>
        <translation>占用内存乘以时间</translation>
    </message>
    <message>
        <source>Replica</source>
        <translation>副本</translation>
    </message>
    <message>
        <source>queue</source>
        <translation>排队</translation>
    </message>
    <message>
        <source>prefill</source>
        <translation>预填充</translation>
    </message>
    <message>
        <source>decode</source>
        <translation>解码</translation>
    </message>
    <message>
        <source>preempted</source>
        <translation>被抢占</translation>
    </message>
    <message>
        <source>recompute</source>
        <translation>重算</translation>
    </message>
    <message>
        <source>preempted %1 times for %2, which lost %3 tokens</source>
        <translation>被抢占 %1 次，共 %2，丢失 %3 个 token</translation>
    </message>
    <message>
        <source>%1 %2 (%3 tokens)</source>
        <translation>%1 %2（%3 个 token）</translation>
    </message>
    <message>
        <source>%1 %2</source>
        <translation>%1 %2</translation>
    </message>
</context>
<context>
    <name>Sliders</name>
    <message>
        <source>Factor on the recorded arrival rate</source>
        <translation>请求到达速度是记录的多少倍</translation>
    </message>
    <message>
        <source>%1 blocks</source>
        <translation>%1 块</translation>
    </message>
    <message>
        <source>%1 tokens</source>
        <translation>%1 token</translation>
    </message>
    <message>
        <source>%1 kept</source>
        <translation>保留 %1</translation>
    </message>
    <message>
        <source>%1 a step</source>
        <translation>每步 %1</translation>
    </message>
    <message>
        <source>KV memory of one replica</source>
        <translation>一个副本的 KV 内存</translation>
    </message>
    <message>
        <source>KV memory of one replica, out of the memory that %1 has free; moving the slider sets your own size</source>
        <translation>一个副本的 KV 内存，取 %1 放得下的大小；移动后即为自定大小</translation>
    </message>
    <message>
        <source>%1, %2</source>
        <comment>size of memory, device</comment>
        <translation>%1，%2</translation>
    </message>
    <message>
        <source>The allocator &quot;%1&quot; has no blocks</source>
        <translation>分配器“%1”没有块</translation>
    </message>
    <message>
        <source>%1; it divides the trace&apos;s hash block of %2</source>
        <translation>%1；须整除轨迹的哈希块大小 %2</translation>
    </message>
    <message>
        <source>from %1</source>
        <comment>device</comment>
        <translation>由 %1 得出</translation>
    </message>
    <message>
        <source>KV memory of one replica, out of the memory that %1 has free; known after a first run</source>
        <translation>一个副本的 KV 内存，取 %1 放得下的大小：运行之后才知道</translation>
    </message>
    <message>
        <source>More than %1 holds: weights and buffers leave %2 for the cache</source>
        <translation>超过 %1 所能容纳的：权重和缓冲区之外留给缓存 %2</translation>
    </message>
</context>
<context>
    <name>Sweep</name>
    <message>
        <source>case %1: %2</source>
        <translation>案例 %1：%2</translation>
    </message>
    <message>
        <source>Case</source>
        <translation>案例</translation>
    </message>
</context>
<context>
    <name>Units</name>
    <message>
        <source>%1 min %2 s</source>
        <translation>%1 分 %2 秒</translation>
    </message>
    <message>
        <source>%1 h %2 min</source>
        <translation>%1 小时 %2 分</translation>
    </message>
    <message>
        <source>h</source>
        <translation>小时</translation>
    </message>
    <message>
        <source>min</source>
        <translation>分钟</translation>
    </message>
</context>
<context>
    <name>Validation</name>
    <message>
        <source>Quantity</source>
        <translation>量</translation>
    </message>
    <message>
        <source>Unit</source>
        <translation>单位</translation>
    </message>
    <message>
        <source>Predicted</source>
        <translation>预测</translation>
    </message>
    <message>
        <source>Measured</source>
        <translation>实测</translation>
    </message>
    <message>
        <source>Measured / predicted</source>
        <translation>实测 / 预测</translation>
    </message>
    <message>
        <source>1 where the prediction was exact</source>
        <translation>预测准确时为 1</translation>
    </message>
</context>
<context>
    <name>Views</name>
    <message>
        <source>Timeline</source>
        <translation>时间线</translation>
    </message>
    <message>
        <source>Requests</source>
        <translation>请求</translation>
    </message>
    <message>
        <source>Compare</source>
        <translation>比较</translation>
    </message>
    <message>
        <source>Sweep</source>
        <translation>扫描</translation>
    </message>
    <message>
        <source>Plan</source>
        <translation>规划</translation>
    </message>
    <message>
        <source>Validation</source>
        <translation>验证</translation>
    </message>
    <message>
        <source>Blocks</source>
        <translation>块</translation>
    </message>
    <message>
        <source>Attention</source>
        <translation>注意力</translation>
    </message>
</context>
<context>
    <name>Words</name>
    <message>
        <source>A request that cannot grow takes the memory of a running request of lower priority, which loses it and computes its tokens again.</source>
        <translation>无法增长的请求取走优先级较低的运行请求的内存，后者失去内存并重新计算其 token。</translation>
    </message>
    <message>
        <source>Its memory was taken for another request; it waits and computes its tokens again.</source>
        <translation>其内存被另一请求取走；它等待并重新计算其 token。</translation>
    </message>
    <message>
        <source>Blocks of earlier prompts are kept while there is room, and found again by prompts that begin likewise.</source>
        <translation>较早提示的块在有空间时保留，并被开头相同的提示再次命中。</translation>
    </message>
    <message>
        <source>An allocation found too little memory.</source>
        <translation>一次分配没有找到足够的内存。</translation>
    </message>
    <message>
        <source>One engine with one pool of memory.</source>
        <translation>一个引擎及其一个内存池。</translation>
    </message>
    <message>
        <source>The engine runs a limited number of requests at once.</source>
        <translation>引擎同时运行的请求数有上限。</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::AnswerBar</name>
    <message>
        <source>Answer</source>
        <translation>结论</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::AttentionChart</name>
    <message>
        <source>token</source>
        <translation>token</translation>
    </message>
    <message>
        <source>%1: keeps %2 of %3</source>
        <translation>%1：保留 %3 个中的 %2 个</translation>
    </message>
    <message>
        <source>Attended mass of the head at each step</source>
        <translation>该头每步的注意力质量</translation>
    </message>
    <message>
        <source>token that asks</source>
        <translation>提出查询的 token</translation>
    </message>
    <message>
        <source>Weights of the head, a row for each query</source>
        <translation>该头的权重，每个查询一行</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::AttentionView</name>
    <message>
        <source>Attention</source>
        <translation>注意力</translation>
    </message>
    <message>
        <source>Sequence</source>
        <translation>序列</translation>
    </message>
    <message>
        <source>Layer</source>
        <translation>层</translation>
    </message>
    <message>
        <source>Query head</source>
        <translation>查询头</translation>
    </message>
    <message>
        <source>Up to four policies, separated by semicolons</source>
        <translation>最多四个策略，用分号分隔</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>步</translation>
    </message>
    <message>
        <source>Weights, kept tokens and attended mass</source>
        <translation>权重、保留的 token 和注意力质量</translation>
    </message>
    <message>
        <source>Policies</source>
        <translation>策略</translation>
    </message>
    <message>
        <source>Sequence %1: %2 tokens</source>
        <translation>序列 %1：%2 个 token</translation>
    </message>
    <message>
        <source>Layer %1</source>
        <translation>层 %1</translation>
    </message>
    <message>
        <source>Head %1</source>
        <translation>头 %1</translation>
    </message>
    <message>
        <source>Open a recording of attention (.kva).</source>
        <translation>打开一个注意力记录（.kva）。</translation>
    </message>
    <message>
        <source>The policies are replayed on the recording.</source>
        <translation>正在记录上重放策略。</translation>
    </message>
    <message>
        <source>At the end of the prompt, token %1.</source>
        <translation>在提示末尾，token %1。</translation>
    </message>
    <message>
        <source>Token %1 asks, step %2 of %3.</source>
        <translation>Token %1 查询，第 %2 步，共 %3 步。</translation>
    </message>
    <message>
        <source>%1 attends %2 of the mass.</source>
        <translation>%1 覆盖质量的 %2。</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::BlockMap</name>
    <message>
        <source>held</source>
        <translation>被持有</translation>
    </message>
    <message>
        <source>held, a colour for each request</source>
        <translation>被持有，每个请求一种颜色</translation>
    </message>
    <message>
        <source>held, just taken</source>
        <translation>被持有，刚取得</translation>
    </message>
    <message>
        <source>for 1,000 s</source>
        <translation>已 1,000 秒</translation>
    </message>
    <message>
        <source>held by one request</source>
        <translation>被一个请求持有</translation>
    </message>
    <message>
        <source>by 64</source>
        <translation>被 64 个</translation>
    </message>
    <message>
        <source>cached</source>
        <translation>已缓存</translation>
    </message>
    <message>
        <source>free</source>
        <translation>空闲</translation>
    </message>
    <message>
        <source>null block</source>
        <translation>空块</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::BlocksView</name>
    <message>
        <source>Blocks</source>
        <translation>块</translation>
    </message>
    <message>
        <source>Colour by state</source>
        <translation>按状态着色</translation>
    </message>
    <message>
        <source>Colour by request</source>
        <translation>按请求着色</translation>
    </message>
    <message>
        <source>Colour by age</source>
        <translation>按时长着色</translation>
    </message>
    <message>
        <source>Colour by sharing</source>
        <translation>按共享着色</translation>
    </message>
    <message>
        <source>What colours mean</source>
        <translation>颜色的含义</translation>
    </message>
    <message>
        <source>Replica</source>
        <translation>副本</translation>
    </message>
    <message>
        <source>&amp;Back</source>
        <translation>后退(&amp;B)</translation>
    </message>
    <message>
        <source>To the last change of a block</source>
        <translation>到上一次块变化</translation>
    </message>
    <message>
        <source>&amp;Play</source>
        <translation>播放(&amp;P)</translation>
    </message>
    <message>
        <source>&amp;Forward</source>
        <translation>前进(&amp;F)</translation>
    </message>
    <message>
        <source>To the next change of a block</source>
        <translation>到下一次块变化</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>Map of blocks</source>
        <translation>块图</translation>
    </message>
    <message>
        <source>History of the block</source>
        <translation>块的历史</translation>
    </message>
    <message>
        <source>Replica %1</source>
        <translation>副本 %1</translation>
    </message>
    <message>
        <source>Choose a block to see its history.</source>
        <translation>选择一个块以查看其历史。</translation>
    </message>
    <message>
        <source>Block %1 is held by %2.</source>
        <translation>块 %1 被 %2 持有。</translation>
    </message>
    <message>
        <source>Block %1 is cached: no request holds it, and its content can be found.</source>
        <translation>块 %1 已缓存：没有请求持有它，其内容可被命中。</translation>
    </message>
    <message>
        <source>Block %1 is free.</source>
        <translation>块 %1 空闲。</translation>
    </message>
    <message>
        <source>Blocks are shown after the run of a trace.</source>
        <translation>运行一个轨迹之后显示块。</translation>
    </message>
    <message>
        <source>The run is repeated to see its blocks.</source>
        <translation>正在重复运行以查看其块。</translation>
    </message>
    <message>
        <source>This memory does not say which block a request holds: only paged pools with block ids do.</source>
        <translation>此内存不说明请求持有哪个块：只有带块编号的分页池才说明。</translation>
    </message>
    <message>
        <source>At %1: %2 blocks held (%3 of them by several requests), %4 cached, %5 free; a block is %6.</source>
        <translation>在 %1：%2 个块被持有（其中 %3 个被多个请求持有），%4 个已缓存，%5 个空闲；每块 %6。</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::CompareChart</name>
    <message>
        <source>Time since the first arrival (%1)</source>
        <translation>自首个到达以来的时间（%1）</translation>
    </message>
    <message>
        <source>%1: %2 (%3)</source>
        <translation>%1：%2（%3）</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::CompareView</name>
    <message>
        <source>Comparison of scenarios</source>
        <translation>场景比较</translation>
    </message>
    <message>
        <source>Memory of each scenario over time</source>
        <translation>各场景的内存随时间的变化</translation>
    </message>
    <message>
        <source>Differences</source>
        <translation>差异</translation>
    </message>
    <message>
        <source>&amp;Keep Scenario</source>
        <translation>保留场景(&amp;K)</translation>
    </message>
    <message>
        <source>Keeps the present scenario and its result; what you change then is compared with it</source>
        <translation>保留当前场景及其结果；之后的更改与它比较</translation>
    </message>
    <message>
        <source>&amp;Go There</source>
        <translation>转到该处(&amp;G)</translation>
    </message>
    <message>
        <source>Edit %1</source>
        <translation>编辑 %1</translation>
    </message>
    <message>
        <source>The window edits this scenario; the present one is kept in its place</source>
        <translation>窗口编辑此场景；当前场景保留在它的位置</translation>
    </message>
    <message>
        <source>Remove %1</source>
        <translation>移除 %1</translation>
    </message>
    <message>
        <source>Keep the scenario, then change something: both are compared here, moment by moment.</source>
        <translation>保留场景，然后作些更改：两者在此逐时刻比较。</translation>
    </message>
    <message>
        <source>A and %1 decide the same in every step.</source>
        <translation>A 与 %1 在每一步的决定都相同。</translation>
    </message>
    <message>
        <source>decides nothing</source>
        <translation>没有决定</translation>
    </message>
    <message>
        <source>A and %1 part at %2, in step %3: A %4; %1 %5.</source>
        <translation>A 与 %1 在 %2 的第 %3 步分开：A %4；%1 %5。</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::CostChart</name>
    <message>
        <source>%1 %2 per hour</source>
        <translation>每小时 %1 %2</translation>
    </message>
    <message>
        <source>%1 GPUs</source>
        <translation>%1 个 GPU</translation>
    </message>
    <message>
        <source>%1, misses</source>
        <translation>%1，未达标</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::Lane</name>
    <message>
        <source>Life of the request</source>
        <translation>请求的生命周期</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1：%2</translation>
    </message>
    <message>
        <source>Time since the first arrival (%1)</source>
        <translation>自首个到达以来的时间（%1）</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::MainWindow</name>
    <message>
        <source>Scenario</source>
        <translation>场景</translation>
    </message>
    <message>
        <source>What if</source>
        <translation>假设分析</translation>
    </message>
    <message>
        <source>Progress</source>
        <translation>进度</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>%1 requests, %2 steps, simulated in %3 of processor time</source>
        <translation>%1 个请求，%2 步，模拟用了 %3 处理器时间</translation>
    </message>
    <message>
        <source>Opening was cancelled.</source>
        <translation>已取消打开。</translation>
    </message>
    <message>
        <source>Cancelled: the picture shows an earlier scenario. Use Run &gt; Run again.</source>
        <translation>已取消：图中是较早的场景。可用“运行 &gt; 重新运行”。</translation>
    </message>
    <message>
        <source>&amp;Run</source>
        <translation>运行(&amp;R)</translation>
    </message>
    <message>
        <source>&amp;Run Again</source>
        <translation>重新运行(&amp;R)</translation>
    </message>
    <message>
        <source>&amp;Cancel</source>
        <translation>取消(&amp;C)</translation>
    </message>
    <message>
        <source>&amp;File</source>
        <translation>文件(&amp;F)</translation>
    </message>
    <message>
        <source>&amp;Open…</source>
        <translation>打开(&amp;O)…</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>退出(&amp;Q)</translation>
    </message>
    <message>
        <source>&amp;Edit</source>
        <translation>编辑(&amp;E)</translation>
    </message>
    <message>
        <source>&amp;Undo</source>
        <translation>撤销(&amp;U)</translation>
    </message>
    <message>
        <source>&amp;Redo</source>
        <translation>重做(&amp;R)</translation>
    </message>
    <message>
        <source>&amp;Copy Picture and Data</source>
        <translation>复制图片和数据(&amp;C)</translation>
    </message>
    <message>
        <source>Copy as Co&amp;mmand</source>
        <translation>复制为命令(&amp;M)</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>视图(&amp;V)</translation>
    </message>
    <message>
        <source>Zoom &amp;In</source>
        <translation>放大(&amp;I)</translation>
    </message>
    <message>
        <source>Zoom &amp;Out</source>
        <translation>缩小(&amp;O)</translation>
    </message>
    <message>
        <source>Show &amp;All</source>
        <translation>显示全部(&amp;A)</translation>
    </message>
    <message>
        <source>Show &amp;Marked Range</source>
        <translation>显示标记范围(&amp;M)</translation>
    </message>
    <message>
        <source>Show as &amp;Table</source>
        <translation>显示为表格(&amp;T)</translation>
    </message>
    <message>
        <source>&amp;Scenario</source>
        <translation>场景(&amp;S)</translation>
    </message>
    <message>
        <source>&amp;What if</source>
        <translation>假设分析(&amp;W)</translation>
    </message>
    <message>
        <source>&amp;Reset Layout</source>
        <translation>重置布局(&amp;R)</translation>
    </message>
    <message>
        <source>T&amp;heme</source>
        <translation>主题(&amp;H)</translation>
    </message>
    <message>
        <source>Follow the &amp;Desktop</source>
        <translation>跟随桌面(&amp;D)</translation>
    </message>
    <message>
        <source>&amp;Light</source>
        <translation>浅色(&amp;L)</translation>
    </message>
    <message>
        <source>&amp;Language</source>
        <translation>语言(&amp;L)</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>帮助(&amp;H)</translation>
    </message>
    <message>
        <source>&amp;Keys</source>
        <translation>按键(&amp;K)</translation>
    </message>
    <message>
        <source>&amp;About kvplan</source>
        <translation>关于 kvplan(&amp;A)</translation>
    </message>
    <message>
        <source>About &amp;Qt</source>
        <translation>关于 Qt(&amp;Q)</translation>
    </message>
    <message>
        <source>About kvplan</source>
        <translation>关于 kvplan</translation>
    </message>
    <message>
        <source>kvplan %1
Where the KV-cache bytes of an LLM server go.
Apache-2.0; uses Qt under the LGPL.</source>
        <translation>kvplan %1
语言模型服务器的 KV 缓存字节用在了哪里。
Apache-2.0；按 LGPL 使用 Qt。</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>%1: %2
</source>
        <translation>%1：%2
</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>按键</translation>
    </message>
    <message>
        <source>Dar&amp;k</source>
        <translation>深色(&amp;K)</translation>
    </message>
    <message>
        <source>&amp;Clear List</source>
        <translation>清空列表(&amp;C)</translation>
    </message>
    <message>
        <source>%1 no longer exists; it was removed from the list of recent files.</source>
        <translation>%1 已不存在，已从最近打开的列表中移除。</translation>
    </message>
    <message>
        <source>Saved as %1</source>
        <translation>已保存为 %1</translation>
    </message>
    <message>
        <source>Save the session</source>
        <translation>保存会话</translation>
    </message>
    <message>
        <source>Sessions (*.json)</source>
        <translation>会话 (*.json)</translation>
    </message>
    <message>
        <source>Open S&amp;ession…</source>
        <translation>打开会话(&amp;E)…</translation>
    </message>
    <message>
        <source>Open a session</source>
        <translation>打开会话</translation>
    </message>
    <message>
        <source>Open &amp;Recent</source>
        <translation>最近打开(&amp;R)</translation>
    </message>
    <message>
        <source>&amp;Save Session</source>
        <translation>保存会话(&amp;S)</translation>
    </message>
    <message>
        <source>Save Session &amp;As…</source>
        <translation>会话另存为(&amp;A)…</translation>
    </message>
    <message>
        <source>%1 requests, %2 steps, from the report of a finished run</source>
        <translation>%1 个请求，%2 步，来自一次已结束运行的报告</translation>
    </message>
    <message>
        <source>This is the report of a finished run. Open its trace to simulate it again.</source>
        <translation>这是一次已结束运行的报告，仅供查看。要重新模拟，请打开它的轨迹。</translation>
    </message>
    <message>
        <source>Reading %p %</source>
        <translation>正在读取 %p %</translation>
    </message>
    <message>
        <source>Simulating %p %</source>
        <translation>正在模拟 %p %</translation>
    </message>
    <message>
        <source>Open a trace, a scenario or a report</source>
        <translation>打开轨迹、场景或报告</translation>
    </message>
    <message>
        <source>Traces, scenarios and reports (*.kvt *.csv *.jsonl *.json *.kvs *.kvr *.gz *.zst);;All files (*)</source>
        <translation>轨迹、场景和报告 (*.kvt *.csv *.jsonl *.json *.kvs *.kvr *.gz *.zst);;所有文件 (*)</translation>
    </message>
    <message>
        <source>This report has no timeline.
%1 writes a report with a timeline.</source>
        <translation>此报告没有时间线。
使用 %1 可写入时间线。</translation>
    </message>
    <message>
        <source>Open the Sa&amp;mple</source>
        <translation>打开示例(&amp;M)</translation>
    </message>
    <message>
        <source>Fits and cost</source>
        <translation>容量与费用</translation>
    </message>
    <message>
        <source>&amp;Fits and Cost</source>
        <translation>容量与费用(&amp;F)</translation>
    </message>
    <message>
        <source>In the chart:
W, S or wheel: zoom
A, D or drag: move
Left, Right: move the cursor
Shift+drag, Shift+Left, Shift+Right: mark a range
F: show the marked range
Home or double click: show everything
Esc: clear cursor and mark, or undo a drag

Everywhere:
</source>
        <translation>在图中：
W、S 或滚轮：缩放
A、D 或拖动：平移
Left、Right：移动游标
Shift+拖动、Shift+Left、Shift+Right：标记范围
F：显示标记范围
Home 或双击：显示全部
Esc：清除游标和标记，或取消拖动

任何位置：
</translation>
    </message>
    <message>
        <source>The session names a view &quot;%1&quot;, which does not exist.</source>
        <translation>会话指定了不存在的视图“%1”。</translation>
    </message>
    <message>
        <source>&amp;Keep Scenario to Compare</source>
        <translation>保留场景以比较(&amp;K)</translation>
    </message>
    <message>
        <source>Views</source>
        <translation>视图</translation>
    </message>
    <message>
        <source>%1 as a table</source>
        <translation>%1（表格）</translation>
    </message>
    <message>
        <source>Exported as %1</source>
        <translation>已导出为 %1</translation>
    </message>
    <message>
        <source>Export the view</source>
        <translation>导出视图</translation>
    </message>
    <message>
        <source>Picture (*.png);;Drawing (*.svg);;Numbers (*.csv)</source>
        <translation>图片 (*.png);;矢量图 (*.svg);;数值 (*.csv)</translation>
    </message>
    <message>
        <source>A scenario can be kept once its result is shown.</source>
        <translation>显示结果之后才能保留场景。</translation>
    </message>
    <message>
        <source>Four scenarios are compared at most: remove one in the view Compare.</source>
        <translation>最多比较四个场景：请在“比较”视图中移除一个。</translation>
    </message>
    <message>
        <source>E&amp;xport View…</source>
        <translation>导出视图(&amp;X)…</translation>
    </message>
    <message>
        <source>&amp;Views</source>
        <translation>视图(&amp;V)</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::MessageBar</name>
    <message>
        <source>Message</source>
        <translation>消息</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Copy message</source>
        <translation>复制消息</translation>
    </message>
    <message>
        <source>Close this message</source>
        <translation>关闭此消息</translation>
    </message>
    <message>
        <source>Close message</source>
        <translation>关闭消息</translation>
    </message>
    <message>
        <source>Error</source>
        <translation>错误</translation>
    </message>
    <message>
        <source>Note</source>
        <translation>提示</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::PlanView</name>
    <message>
        <source>Plan</source>
        <translation>规划</translation>
    </message>
    <message>
        <source>Cost of the deployments</source>
        <translation>各部署的费用</translation>
    </message>
    <message>
        <source>Deployments of the plan</source>
        <translation>规划的部署</translation>
    </message>
    <message>
        <source>What the search tried, and why</source>
        <translation>搜索尝试了什么以及原因</translation>
    </message>
    <message>
        <source>Edit as &amp;Scenario</source>
        <translation>作为场景编辑(&amp;S)</translation>
    </message>
    <message>
        <source>Filter what the search tried: a word of the deployment, the reason or the outcome</source>
        <translation>筛选搜索的尝试：部署、原因或结果中的词</translation>
    </message>
    <message>
        <source>Filter of the search</source>
        <translation>搜索的筛选</translation>
    </message>
    <message>
        <source>The cheapest deployment that meets the targets: %1.</source>
        <translation>达到目标的最便宜的部署：%1。</translation>
    </message>
    <message>
        <source>No deployment that was tried meets the targets.</source>
        <translation>尝试过的部署都未达到目标。</translation>
    </message>
    <message>
        <source>It is limited by %1.</source>
        <translation>受限于 %1。</translation>
    </message>
    <message>
        <source>It holds up to %1 times the load.</source>
        <translation>可承受 %1 倍的负载。</translation>
    </message>
    <message>
        <source>The search tried %1 cases.</source>
        <translation>搜索尝试了 %1 个案例。</translation>
    </message>
    <message>
        <source>Open a plan: %1</source>
        <translation>打开一个规划：%1</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::RatioChart</name>
    <message>
        <source>measured / predicted</source>
        <translation>实测 / 预测</translation>
    </message>
    <message>
        <source>equal</source>
        <translation>相等</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::RequestsView</name>
    <message>
        <source>Requests</source>
        <translation>请求</translation>
    </message>
    <message>
        <source>S&amp;lowest</source>
        <translation>最慢(&amp;L)</translation>
    </message>
    <message>
        <source>&amp;Most Preempted</source>
        <translation>抢占最多(&amp;M)</translation>
    </message>
    <message>
        <source>Bi&amp;ggest</source>
        <translation>最大(&amp;G)</translation>
    </message>
    <message>
        <source>At the c&amp;ursor</source>
        <translation>光标处(&amp;U)</translation>
    </message>
    <message>
        <source>Only requests that are there at the cursor, or in the marked range</source>
        <translation>仅光标处或标记范围内存在的请求</translation>
    </message>
    <message>
        <source>Show on &amp;Timeline</source>
        <translation>在时间线上显示(&amp;T)</translation>
    </message>
    <message>
        <source>Filter of requests</source>
        <translation>请求的筛选</translation>
    </message>
    <message>
        <source>Requests of the run</source>
        <translation>运行中的请求</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1（共 %2）</translation>
    </message>
    <message>
        <source>Choose a request to see its life.</source>
        <translation>选择一个请求以查看其生命周期。</translation>
    </message>
    <message>
        <source>Requests are listed after the run of a trace.</source>
        <translation>运行一个轨迹之后列出请求。</translation>
    </message>
    <message>
        <source>Request %1, %2</source>
        <translation>请求 %1，%2</translation>
    </message>
    <message>
        <source>Filter: %1</source>
        <translation>筛选：%1</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::ScenarioPanel</name>
    <message>
        <source>general</source>
        <translation>常规</translation>
    </message>
    <message>
        <source>from %1 to %2</source>
        <translation>从 %1 到 %2</translation>
    </message>
    <message>
        <source>%1, usually %2</source>
        <translation>%1，通常为 %2</translation>
    </message>
    <message>
        <source>a positive number of seconds</source>
        <translation>正的秒数</translation>
    </message>
    <message>
        <source>p/q or a decimal number</source>
        <translation>p/q 或十进制小数</translation>
    </message>
    <message>
        <source>%1. Open another one with File &gt; Open</source>
        <translation>%1。用“文件 &gt; 打开”打开另一个</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1：%2</translation>
    </message>
    <message>
        <source>Back to the default</source>
        <translation>恢复默认值</translation>
    </message>
    <message>
        <source>Reset %1</source>
        <translation>重置 %1</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <translation>%1（%2）</translation>
    </message>
    <message>
        <source>Search settings</source>
        <translation>搜索设置</translation>
    </message>
    <message>
        <source>All</source>
        <translation>全部</translation>
    </message>
    <message>
        <source>Shows every setting; otherwise those that matter most and those that were given</source>
        <translation>显示所有设置；否则只显示最重要的和已给定的设置</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::SliderPanel</name>
    <message>
        <source>&amp;Load</source>
        <translation>负载(&amp;L)</translation>
    </message>
    <message>
        <source>&amp;Pool</source>
        <translation>内存池(&amp;P)</translation>
    </message>
    <message>
        <source>&amp;Block</source>
        <translation>块(&amp;B)</translation>
    </message>
    <message>
        <source>B&amp;udget</source>
        <translation>token 预算(&amp;U)</translation>
    </message>
    <message>
        <source>65,536 tokens per step </source>
        <translation>每步 65,536 token </translation>
    </message>
</context>
<context>
    <name>kvplan::gui::SweepView</name>
    <message>
        <source>Sweep</source>
        <translation>扫描</translation>
    </message>
    <message>
        <source>Cases over two figures</source>
        <translation>两个指标上的案例</translation>
    </message>
    <message>
        <source>Cases of the sweep</source>
        <translation>扫描的案例</translation>
    </message>
    <message>
        <source>Figure from left to right</source>
        <translation>横轴指标</translation>
    </message>
    <message>
        <source>Figure from bottom to top</source>
        <translation>纵轴指标</translation>
    </message>
    <message>
        <source>Edit as &amp;Scenario</source>
        <translation>作为场景编辑(&amp;S)</translation>
    </message>
    <message>
        <source>Targets that cases must meet</source>
        <translation>案例必须达到的目标</translation>
    </message>
    <message>
        <source>lower is better</source>
        <translation>越低越好</translation>
    </message>
    <message>
        <source>higher is better</source>
        <translation>越高越好</translation>
    </message>
    <message>
        <source>%1, %2</source>
        <translation>%1，%2</translation>
    </message>
    <message>
        <source>%1 (%2), %3</source>
        <translation>%1（%2），%3</translation>
    </message>
    <message>
        <source>%1 of %2 cases are shown; %3 of them are on the Pareto front.</source>
        <translation>显示 %2 个案例中的 %1 个；其中 %3 个在 Pareto 前沿上。</translation>
    </message>
    <message>
        <source>Chosen: %1.</source>
        <translation>已选：%1。</translation>
    </message>
    <message>
        <source>Targets: %1</source>
        <translation>目标：%1</translation>
    </message>
    <message>
        <source>Open the database of a sweep: %1</source>
        <translation>打开一个扫描数据库：%1</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::TimelineTable</name>
    <message>
        <source>from %1 to %2</source>
        <translation>从 %1 到 %2</translation>
    </message>
    <message>
        <source>begin (s)</source>
        <translation>开始（秒）</translation>
    </message>
    <message>
        <source>end (s)</source>
        <translation>结束（秒）</translation>
    </message>
    <message>
        <source>running</source>
        <translation>运行中</translation>
    </message>
    <message>
        <source>waiting</source>
        <translation>等待中</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::TimelineView</name>
    <message>
        <source>Memory over time</source>
        <translation>内存随时间的变化</translation>
    </message>
    <message>
        <source>Stacked chart of the ten states of KV memory, with running and waiting requests below it. W and S zoom, A and D pan, arrow keys move the cursor, Home shows everything.</source>
        <translation>KV 内存十种状态的堆叠图，下方是运行中和等待中的请求数。W 和 S 缩放，A 和 D 平移，方向键移动游标，Home 显示全部。</translation>
    </message>
    <message>
        <source>running</source>
        <translation>运行中</translation>
    </message>
    <message>
        <source>waiting</source>
        <translation>等待中</translation>
    </message>
    <message>
        <source>KV memory (%1), capacity %2</source>
        <translation>KV 内存（%1），容量 %2</translation>
    </message>
    <message>
        <source>Requests running</source>
        <translation>运行中的请求</translation>
    </message>
    <message>
        <source>Requests waiting</source>
        <translation>等待中的请求</translation>
    </message>
    <message>
        <source>Time since the first arrival (%1)</source>
        <translation>距首个请求到达的时间（%1）</translation>
    </message>
    <message>
        <source>At %1</source>
        <translation>时刻 %1</translation>
    </message>
    <message>
        <source>Mean of the view</source>
        <translation>视图内平均值</translation>
    </message>
    <message>
        <source>%1: %2, from %3 to %4 %5</source>
        <translation>%5 %1：%2，从 %3 到 %4</translation>
    </message>
    <message>
        <source>at %1</source>
        <translation>在 %1</translation>
    </message>
    <message>
        <source>in the view</source>
        <translation>视图内</translation>
    </message>
    <message>
        <source>No data</source>
        <translation>没有数据</translation>
    </message>
    <message>
        <source>%1, %2 %3</source>
        <translation>%1，%2 %3</translation>
    </message>
    <message>
        <source>Drop a trace, a scenario or a report here</source>
        <translation>将轨迹、场景或报告拖放到这里</translation>
    </message>
    <message>
        <source>or open one with File &gt; Open.
A trace is a .kvt file, or a CSV or JSONL file of requests (Azure, Mooncake, ...); a scenario is a JSON or .kvs file; a report is a .kvr file.</source>
        <translation>或用“文件 &gt; 打开”打开。
轨迹是 .kvt 文件，或由请求组成的 CSV、JSONL 文件（Azure、Mooncake 等）；场景是 JSON 或 .kvs 文件；报告是 .kvr 文件。</translation>
    </message>
</context>
<context>
    <name>kvplan::gui::ValidationView</name>
    <message>
        <source>Validation</source>
        <translation>验证</translation>
    </message>
    <message>
        <source>Predicted and measured quantities</source>
        <translation>预测量与实测量</translation>
    </message>
    <message>
        <source>Ratios of measured to predicted</source>
        <translation>实测与预测之比</translation>
    </message>
    <message>
        <source>Measured on %1.</source>
        <translation>实测设备：%1。</translation>
    </message>
    <message>
        <source>Verdict: %1.</source>
        <translation>结论：%1。</translation>
    </message>
    <message>
        <source>%1 quantities.</source>
        <translation>%1 个量。</translation>
    </message>
    <message>
        <source>Farthest off: %1, measured %2 times the prediction.</source>
        <translation>偏差最大：%1，实测为预测的 %2 倍。</translation>
    </message>
    <message>
        <source>Open a file of measured quantities: %1</source>
        <translation>打开一个实测量文件：%1</translation>
    </message>
</context>
</TS>
