<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>catalogue</name>
    <message>
        <source>1 byte per element (E4M3 or E5M2); one scale per layer, stored outside the cache.</source>
        <translation>每元素 1 字节（E4M3 或 E5M2），每层张量一个缩放因子，放在缓存之外。</translation>
    </message>
    <message>
        <source>1 byte per element; without a group, one scale per layer, stored outside the cache.</source>
        <translation>每元素 1 字节；不分组时每层张量一个缩放因子，放在缓存之外。</translation>
    </message>
    <message>
        <source>2 bytes per element.</source>
        <translation>每元素 2 字节。</translation>
    </message>
    <message>
        <source>4 bits per element (E2M1) and a scale per group; with a 1-byte scale per 16 elements, 0.5625 bytes per element.</source>
        <translation>每元素 4 位（E2M1），每组一个缩放因子；每 16 个元素一字节时为 0.5625 字节。</translation>
    </message>
    <message>
        <source>4 bits per element, with a scale and a zero point per group.</source>
        <translation>每元素 4 位，每组一个缩放因子和一个零点。</translation>
    </message>
    <message>
        <source>Whether a block can be evicted only after the cached blocks that follow it in their prompts</source>
        <translation>一个块只有在其提示中位于其后的已缓存块之后才让位</translation>
    </message>
    <message>
        <source>A step takes a fixed time, a time per computed token and a time per context token.</source>
        <translation>每步、每个计算的 token、每个上下文 token 各用固定时间。</translation>
    </message>
    <message>
        <source>FP8 latent vectors (MLA) with 656 bytes per token: 512 elements in fp8, 4 scales of 4 bytes, and 64 rotary elements in bf16.</source>
        <translation>512 维潜向量用 8 位浮点，带 4 个 4 字节缩放因子，64 个旋转元素用 16 位浮点：共 656 字节。</translation>
    </message>
    <message>
        <source>The pool is a share of the device memory, minus weights, the activation peak of a profiling run, and what libraries allocated meanwhile; one block is the null block.</source>
        <translation>设备内存的一部分，减去权重、试运行时激活的峰值和其间各库占用的内存；其中一块是空块。</translation>
    </message>
    <message>
        <source>The pool is a share of the memory that weights, activations and libraries leave free.</source>
        <translation>权重、激活和各库之外空闲内存的一部分。</translation>
    </message>
    <message>
        <source>A turn arrives when the earlier turns of its session have ended in the run and the recorded pause has passed; sessions start at their recorded times.</source>
        <translation>一轮在其会话中先前已结束的各轮在运行中也结束、且用户思考之后到达；会话的开始保持记录的时间。</translation>
    </message>
    <message>
        <source>No KV cache: every step computes all tokens of its requests again.</source>
        <translation>不保留任何键和值：每一步都把各请求的全部 token 重新计算一遍。</translation>
    </message>
    <message>
        <source>activation bytes</source>
        <translation>激活字节数</translation>
    </message>
    <message>
        <source>agg</source>
        <translation>聚合方式</translation>
    </message>
    <message>
        <source>allocator</source>
        <translation>分配器</translation>
    </message>
    <message>
        <source>Like closed, but only for requests with explicit waits in the trace; all others arrive at their recorded times.</source>
        <translation>对轨迹自身说明了等待对象的请求按闭环处理；其余请求在记录的时间到达。</translation>
    </message>
    <message>
        <source>A recording is used only if the model has its shape.</source>
        <translation>注意力记录只驱动与其形状相同的模型的请求。</translation>
    </message>
    <message>
        <source>The element size of the model&apos;s weights (cache_dtype auto).</source>
        <translation>每元素字节数与模型计算时相同。</translation>
    </message>
    <message>
        <source>attention</source>
        <translation>注意力记录</translation>
    </message>
    <message>
        <source>bandwidth</source>
        <translation>带宽</translation>
    </message>
    <message>
        <source>base ns</source>
        <translation>基础时间</translation>
    </message>
    <message>
        <source>Bits per weight, without scales; default: the element size of the model</source>
        <translation>一个权重的位数；不给则与模型元素相同，不计缩放因子</translation>
    </message>
    <message>
        <source>block tokens</source>
        <translation>块大小</translation>
    </message>
    <message>
        <source>blocks</source>
        <translation>块</translation>
    </message>
    <message>
        <source>Blocks of at least this many MiB are not split: unlimited, or a whole number above 20 (max_split_size_mb)</source>
        <translation>达到这么多 MiB 的块不再拆分：不限，或大于 20 的整数</translation>
    </message>
    <message>
        <source>Blocks of one pool are shared by groups of layers, as in vLLM V1. A group with a sliding window frees blocks behind the window. A prefix hit needs blocks in every group.</source>
        <translation>各层分组共用一个块池：带窗口的组归还窗口已滑过的块，各组都有某前缀时可命中前缀缓存，与 vLLM V1 相同。</translation>
    </message>
    <message>
        <source>Fixed-size blocks from a free queue, with prefix caching by chained block hashes, as in vLLM V1.</source>
        <translation>从一个队列取用固定 token 数的块，并像 vLLM V1 那样用哈希链做前缀缓存。</translation>
    </message>
    <message>
        <source>Prefix caching: share blocks with equal content and prefix</source>
        <translation>内容和前缀相同的块可共享，并可再次命中</translation>
    </message>
    <message>
        <source>Upper bound for `kvplan evict`: each query reads its k tokens with the largest weights from the whole sequence; it frees nothing, so runs refuse it</source>
        <translation>淘汰评估的上界：每个查询读取整个序列中注意力最大的 k 个 token；它不释放内存，所以运行会拒绝它</translation>
    </message>
    <message>
        <source>budget</source>
        <translation>预算</translation>
    </message>
    <message>
        <source>bytes</source>
        <translation>字节</translation>
    </message>
    <message>
        <source>Bytes per group for its scale</source>
        <translation>每组缩放因子的字节数</translation>
    </message>
    <message>
        <source>Bytes per group for its zero point; 0 for symmetric values</source>
        <translation>每组零点的字节数；数值对称时为 0</translation>
    </message>
    <message>
        <source>bytes/s</source>
        <translation>字节/秒</translation>
    </message>
    <message>
        <source>Columns of a trace file in any other table format: arrival=COLUMN[:s|ms|us|ns|iso],input=COLUMN,output=COLUMN[,...]. Times without a unit are seconds</source>
        <translation>轨迹文件是其他表格时各列的含义，写法与 kvplan 的导入命令相同；未写单位的时间按秒计</translation>
    </message>
    <message>
        <source>compact</source>
        <translation>紧缩</translation>
    </message>
    <message>
        <source>compute efficiency</source>
        <translation>计算效率</translation>
    </message>
    <message>
        <source>context bytes</source>
        <translation>上下文字节数</translation>
    </message>
    <message>
        <source>context ns</source>
        <translation>上下文时间</translation>
    </message>
    <message>
        <source>Continuous batching with chunked prefill, prefix caching, and preemption by recompute; first come first served or by priority.</source>
        <translation>连续批处理：分块预填充、前缀缓存、以重新计算实现的抢占，先到先服务或按优先级。</translation>
    </message>
    <message>
        <source>copy bandwidth</source>
        <translation>复制带宽</translation>
    </message>
    <message>
        <source>deployment</source>
        <translation>部署</translation>
    </message>
    <message>
        <source>device</source>
        <translation>设备</translation>
    </message>
    <message>
        <source>Device memory bandwidth of a copy in bytes/s, reads and writes together (default: NVIDIA H100 SXM data sheet)</source>
        <translation>复制时每秒读写显存的字节总数（默认：NVIDIA H100 SXM 规格书）</translation>
    </message>
    <message>
        <source>Device of every rank (kvplan list device): its memory determines the pool if no pool size is given, and its bandwidth and FLOP/s determine the roofline</source>
        <translation>每个进程的设备：未给出内存池时由其内存决定，其带宽和 FLOP/s 决定屋顶线</translation>
    </message>
    <message>
        <source>What happens to the slots of evicted tokens. holes: they stay until their whole block is unused (blocks can be shared). reuse: later tokens are written there. compact: kept tokens are moved together when a block&apos;s worth is evicted</source>
        <translation>被丢弃的单元留到整块失效（holes：块可共享），由下一个 token 占用其位置（reuse），或在丢弃满一块时将保留的单元移到一起（compact）</translation>
    </message>
    <message>
        <source>e2e s</source>
        <translation>端到端时间</translation>
    </message>
    <message>
        <source>Elements of a head&apos;s vector that share a scale; 0: one scale for the whole tensor, stored outside the cache</source>
        <translation>一个头的向量中共用一个缩放因子的元素数；0：全部共用一个，放在缓存之外</translation>
    </message>
    <message>
        <source>engine</source>
        <translation>引擎</translation>
    </message>
    <message>
        <source>Replicas that share the requests</source>
        <translation>分担请求的引擎数</translation>
    </message>
    <message>
        <source>Every request arrives at its recorded time.</source>
        <translation>每个请求都在记录的时间到达，不论它曾等待什么。</translation>
    </message>
    <message>
        <source>eviction</source>
        <translation>驱逐</translation>
    </message>
    <message>
        <source>expandable segments</source>
        <translation>可扩展段</translation>
    </message>
    <message>
        <source>factor</source>
        <translation>增长倍数</translation>
    </message>
    <message>
        <source>First tokens of the sequence, never evicted</source>
        <translation>序列开头的 token，永远保留</translation>
    </message>
    <message>
        <source>fit</source>
        <translation>适配方式</translation>
    </message>
    <message>
        <source>fleet</source>
        <translation>集群</translation>
    </message>
    <message>
        <source>FLOP/s</source>
        <translation>FLOP/s</translation>
    </message>
    <message>
        <source>flops</source>
        <translation>算力</translation>
    </message>
    <message>
        <source>format</source>
        <translation>格式</translation>
    </message>
    <message>
        <source>free gpu memory fraction</source>
        <translation>空闲内存份额</translation>
    </message>
    <message>
        <source>garbage collection threshold</source>
        <translation>垃圾回收阈值</translation>
    </message>
    <message>
        <source>graph bytes</source>
        <translation>计算图字节数</translation>
    </message>
    <message>
        <source>Bytes of CUDA graphs, captured after the pool is allocated; default: 512 MiB (assumed)</source>
        <translation>内存池建立之后捕获的计算图；不给则假定 512 MiB</translation>
    </message>
    <message>
        <source>group</source>
        <translation>分组</translation>
    </message>
    <message>
        <source>hh</source>
        <translation>高注意力</translation>
    </message>
    <message>
        <source>How KV-cache memory is allocated</source>
        <translation>KV 内存如何分配</translation>
    </message>
    <message>
        <source>How long a step takes; default: composed if deployment.device has measured attention for the model</source>
        <translation>一步用时多长；未指定时，若模型的注意力在所选设备上测量过，则由各部分合成</translation>
    </message>
    <message>
        <source>Growth factor of a full range, if memory allows</source>
        <translation>写满的一段在空间足够时增长到原来的多少倍</translation>
    </message>
    <message>
        <source>Reserved length: the actual final length (oracle), the longest allowed request (max), the next power of two (pow2), or the prompt plus the next power of two of the output (output-pow2)</source>
        <translation>预留多少：实际将用的量、最长请求的量，或下一个 2 的幂（对整个请求，或只对输出）</translation>
    </message>
    <message>
        <source>Minimum number of tokens by which a full range grows</source>
        <translation>写满的一段至少增长多少</translation>
    </message>
    <message>
        <source>How the engine computes the size of the KV-cache pool from the device&apos;s memory; default: the rule of the scenario&apos;s engine</source>
        <translation>引擎如何由设备内存得出 KV 缓存池的大小；默认用场景所选引擎的规则</translation>
    </message>
    <message>
        <source>How the scores of the query heads of a KV head are combined</source>
        <translation>同一存储头的多个查询头如何合成一个分数</translation>
    </message>
    <message>
        <source>Format of the trace file. Default: its content decides</source>
        <translation>轨迹文件的导入格式，代替按内容判断</translation>
    </message>
    <message>
        <source>Format of the KV cache: bytes per element (family format), or a codec; none means native (the model&apos;s element size)</source>
        <translation>缓存以何种方式保存键和值：每个 token 固定字节数，或由编码方式决定</translation>
    </message>
    <message>
        <source>window format</source>
        <translation>窗口层格式</translation>
    </message>
    <message>
        <source>Format of the sliding-window layers; none: the format of the other layers</source>
        <translation>带窗口的层以何种格式保存窗口可见的部分，与其他层分开；默认各层保存方式相同</translation>
    </message>
    <message>
        <source>in place</source>
        <translation>就地增长</translation>
    </message>
    <message>
        <source>k</source>
        <translation>k</translation>
    </message>
    <message>
        <source>Keeps every token: the full cache, which is the baseline</source>
        <translation>保留每个 token：完整缓存，其他策略与它比较</translation>
    </message>
    <message>
        <source>Keeps the first tokens (attention sinks) and the newest ones</source>
        <translation>保留开头的 token（注意力汇聚点）和最新的 token</translation>
    </message>
    <message>
        <source>Keeps the newest tokens and the tokens with the most accumulated attention (heavy hitters)</source>
        <translation>保留最新的 token 和至今获得注意力最多的 token</translation>
    </message>
    <message>
        <source>Keeps the tokens with the largest weights in the newest query&apos;s row; one set per layer</source>
        <translation>保留最新查询注意最多的 token；每层一组</translation>
    </message>
    <message>
        <source>KV cache, as a share of the memory that is free after everything else</source>
        <translation>KV 缓存占其余全部之外空闲内存的份额</translation>
    </message>
    <message>
        <source>Size of the KV-cache pool of one replica in bytes; the default is what an 80 GB device has free beside an 8 B model</source>
        <translation>一个副本的 KV 内存；默认值约为 80 GB 设备装入 8 B 模型后的剩余</translation>
    </message>
    <message>
        <source>latency</source>
        <translation>延迟</translation>
    </message>
    <message>
        <source>leaves</source>
        <translation>仅叶块</translation>
    </message>
    <message>
        <source>limit</source>
        <translation>请求上限</translation>
    </message>
    <message>
        <source>parts</source>
        <translation>份数</translation>
    </message>
    <message>
        <source>long prefill threshold</source>
        <translation>长预填充阈值</translation>
    </message>
    <message>
        <source>Longest pause between turns, applied before the factor</source>
        <translation>更长的停顿先截短到此值，再乘倍数</translation>
    </message>
    <message>
        <source>map</source>
        <translation>列对应</translation>
    </message>
    <message>
        <source>map us</source>
        <translation>映射时间</translation>
    </message>
    <message>
        <source>max model len</source>
        <translation>最大长度</translation>
    </message>
    <message>
        <source>max seqs</source>
        <translation>最大并发</translation>
    </message>
    <message>
        <source>max split size mb</source>
        <translation>最大可拆分大小</translation>
    </message>
    <message>
        <source>max think s</source>
        <translation>最长停顿</translation>
    </message>
    <message>
        <source>mem fraction static</source>
        <translation>静态内存份额</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>memory efficiency</source>
        <translation>访存效率</translation>
    </message>
    <message>
        <source>memory utilization</source>
        <translation>内存利用率</translation>
    </message>
    <message>
        <source>Microseconds to map one page and set its access rights: a number, or &quot;published&quot; for 40, 9, 8.5 or 8 by page size (the paper&apos;s figures, quoted from memory)</source>
        <translation>映射一页并设置访问权限的微秒数：一个数，或按页大小取论文发表的值（凭记忆）：40、9、8.5 或 8</translation>
    </message>
    <message>
        <source>Microseconds to unmap one page: a number, or &quot;published&quot; for 34, 4, 3 or 2 by page size (the paper&apos;s figures, quoted from memory)</source>
        <translation>解除一页映射的微秒数：一个数，或按页大小取论文发表的值（凭记忆）：34、4、3 或 2</translation>
    </message>
    <message>
        <source>model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Name of the served model, or path of a Hugging Face config.json; &quot;recording&quot; takes the shape of workload.attention</source>
        <translation>被服务模型的名称，或模型配置文件的路径；也可以取注意力记录的形状</translation>
    </message>
    <message>
        <source>Newest tokens kept</source>
        <translation>保留的最新 token 数</translation>
    </message>
    <message>
        <source>Newest tokens, always kept</source>
        <translation>最新的 token，始终保留</translation>
    </message>
    <message>
        <source>ns</source>
        <translation>ns</translation>
    </message>
    <message>
        <source>One contiguous range per request that grows with it, in place or by a copy to a larger range.</source>
        <translation>每个请求一段连续内存，随请求增长：就地延长，或复制到更长的一段。</translation>
    </message>
    <message>
        <source>The pool is divided into equal parts; each request takes one part, whatever its length.</source>
        <translation>池等分为若干份，每个请求不论长短各占一份。</translation>
    </message>
    <message>
        <source>Number of equal parts of the pool, which is also the limit of running requests; the remainder is padding</source>
        <translation>池等分的份数，也是同时运行的请求数上限；除不尽的余量计为填充</translation>
    </message>
    <message>
        <source>One contiguous range per request with a power-of-two size: the buddy system.</source>
        <translation>每个请求一段长度为二的幂的连续内存：伙伴系统。</translation>
    </message>
    <message>
        <source>One contiguous range per request, fully reserved at admission and freed at its end.</source>
        <translation>每个请求一段连续内存，准入时整段预留，结束时归还。</translation>
    </message>
    <message>
        <source>Serve only the first n requests</source>
        <translation>只取前 n 个请求</translation>
    </message>
    <message>
        <source>overhead ns</source>
        <translation>开销</translation>
    </message>
    <message>
        <source>overlap</source>
        <translation>重叠</translation>
    </message>
    <message>
        <source>page kib</source>
        <translation>页大小</translation>
    </message>
    <message>
        <source>Factor on pauses between turns</source>
        <translation>各轮之间的停顿乘以此倍数</translation>
    </message>
    <message>
        <source>Peak dense half-precision FLOP/s of the device (default: NVIDIA H100 SXM data sheet)</source>
        <translation>设备的半精度稠密峰值算力 FLOP/s（默认：NVIDIA H100 SXM 数据表）</translation>
    </message>
    <message>
        <source>Peak device memory bytes/s (default: NVIDIA H100 SXM data sheet)</source>
        <translation>设备显存峰值带宽，字节/秒（默认：NVIDIA H100 SXM 数据表）</translation>
    </message>
    <message>
        <source>Peak activation bytes of the engine in a step; default: estimated from the step&apos;s limits</source>
        <translation>一步中引擎自身内存的峰值，不含权重；不给则按每步上限假定</translation>
    </message>
    <message>
        <source>per</source>
        <translation>张量粒度</translation>
    </message>
    <message>
        <source>Physical page size in KiB: 2048 with unmodified CUDA, smaller sizes with vAttention&apos;s driver</source>
        <translation>物理页大小（KiB）：原版驱动为 2048，更小的页需要修改过的驱动</translation>
    </message>
    <message>
        <source>Pipeline stages; each has some of the layers</source>
        <translation>流水线阶段数：每个阶段有一部分层</translation>
    </message>
    <message>
        <source>placement</source>
        <translation>放置方式</translation>
    </message>
    <message>
        <source>pool blocks</source>
        <translation>池大小</translation>
    </message>
    <message>
        <source>pool bytes</source>
        <translation>池大小</translation>
    </message>
    <message>
        <source>pool rule</source>
        <translation>内存池规则</translation>
    </message>
    <message>
        <source>pool tokens</source>
        <translation>池大小</translation>
    </message>
    <message>
        <source>pp</source>
        <translation>流水线并行</translation>
    </message>
    <message>
        <source>pp layers</source>
        <translation>各流水线阶段的层数</translation>
    </message>
    <message>
        <source>prefix cache</source>
        <translation>前缀缓存</translation>
    </message>
    <message>
        <source>Query heads per KV head; 0 means 1 for JSON inputs, and query heads / KV heads otherwise</source>
        <translation>每个存储头的查询头数；0 表示：JSON 输入取 1，否则取查询头数 / KV 头数</translation>
    </message>
    <message>
        <source>rate scale</source>
        <translation>到达倍率</translation>
    </message>
    <message>
        <source>ratio</source>
        <translation>比例</translation>
    </message>
    <message>
        <source>recent</source>
        <translation>最近</translation>
    </message>
    <message>
        <source>reclaim</source>
        <translation>回收方式</translation>
    </message>
    <message>
        <source>Attention recordings FILE[,FILE...] (.kva); FILE@N is only sequence N of the file. If the policy needs attention, request i uses recording i mod n, with n recordings</source>
        <translation>注意力记录文件，以逗号分隔；文件@N 只取其中第 N 条序列：策略需要时，各请求依次轮流由它们驱动</translation>
    </message>
    <message>
        <source>replicas</source>
        <translation>副本数</translation>
    </message>
    <message>
        <source>requests</source>
        <translation>请求</translation>
    </message>
    <message>
        <source>Factor on the arrival rate (p/q or decimal)</source>
        <translation>请求到达速度的倍数（p/q 或十进制小数）</translation>
    </message>
    <message>
        <source>Maximum number of requests running at once (max_num_seqs)</source>
        <translation>同时运行的请求数上限（max_num_seqs）</translation>
    </message>
    <message>
        <source>Longest request: a request with a larger sum of prompt and output is rejected</source>
        <translation>提示与输出之和超过此值的请求被拒绝</translation>
    </message>
    <message>
        <source>reserve</source>
        <translation>预留方式</translation>
    </message>
    <message>
        <source>Tokens reserved at admission in addition to the prompt</source>
        <translation>准入时在提示之外预留的空间</translation>
    </message>
    <message>
        <source>roundup power2 divisions</source>
        <translation>二的幂之间的分档</translation>
    </message>
    <message>
        <source>router</source>
        <translation>路由</translation>
    </message>
    <message>
        <source>s</source>
        <translation>秒</translation>
    </message>
    <message>
        <source>scale bytes</source>
        <translation>缩放因子字节数</translation>
    </message>
    <message>
        <source>Engine (scheduler) and its limits</source>
        <translation>调度器及其上限</translation>
    </message>
    <message>
        <source>score rows</source>
        <translation>计分行</translation>
    </message>
    <message>
        <source>seed</source>
        <translation>种子</translation>
    </message>
    <message>
        <source>Seed of the run; no part of a run draws from it yet, components have their own seeds</source>
        <translation>运行中随机抽取所用的种子，组件另有各自的种子；目前没有任何随机</translation>
    </message>
    <message>
        <source>answers</source>
        <translation>回答</translation>
    </message>
    <message>
        <source>version</source>
        <translation>版本</translation>
    </message>
    <message>
        <source>extrapolation</source>
        <translation>外推</translation>
    </message>
    <message>
        <source>sessions</source>
        <translation>会话</translation>
    </message>
    <message>
        <source>Share of the device&apos;s memory that the engine may use</source>
        <translation>引擎可用的设备内存份额</translation>
    </message>
    <message>
        <source>Share of the peak bandwidth that kernels reach</source>
        <translation>内核达到峰值带宽的比例</translation>
    </message>
    <message>
        <source>Share of the peak FLOP/s that kernels reach</source>
        <translation>内核达到峰值算力的比例</translation>
    </message>
    <message>
        <source>Share of the pool above which old unused segments are freed before new ones are allocated; 0: off (garbage_collection_threshold)</source>
        <translation>内存池占用超过此比例时，新建段之前先归还久未使用的空闲段；0 表示关闭</translation>
    </message>
    <message>
        <source>sink</source>
        <translation>开头</translation>
    </message>
    <message>
        <source>Divisions between powers of two to which sizes are rounded up; off: round up to 512 bytes (roundup_power2_divisions)</source>
        <translation>大小向上取整到相邻二的幂之间的若干档；关闭时取整到 512 字节</translation>
    </message>
    <message>
        <source>slack</source>
        <translation>余量</translation>
    </message>
    <message>
        <source>Sliding window: keeps only the newest tokens</source>
        <translation>滑动窗口：保留最新的 token，忘记其余</translation>
    </message>
    <message>
        <source>step</source>
        <translation>最小增量</translation>
    </message>
    <message>
        <source>Bytes in use before loading, by the device context and communication; default: 512 MiB (assumed)</source>
        <translation>加载之前已占用：设备上下文、通信；不给则假定 512 MiB</translation>
    </message>
    <message>
        <source>table</source>
        <translation>块表</translation>
    </message>
    <message>
        <source>targets</source>
        <translation>目标</translation>
    </message>
    <message>
        <source>Tensor-parallel ranks; each has a share of the heads</source>
        <translation>张量并行进程数：每个进程有一部分头</translation>
    </message>
    <message>
        <source>Tensors per request: keys and values of each layer separately, or one tensor for all</source>
        <translation>一个请求的张量：每层的键和值各一个，或全部合为一个</translation>
    </message>
    <message>
        <source>Each request allocates its tensors at admission from a model of PyTorch&apos;s caching allocator.</source>
        <translation>每个请求的张量在准入时创建，取自深度学习框架的缓存分配器。</translation>
    </message>
    <message>
        <source>Each tensor is contiguous in virtual memory, and physical pages are mapped under it as it grows.</source>
        <translation>张量在虚拟内存中连续，随其增长再映射物理页。</translation>
    </message>
    <message>
        <source>Sends the i-th arrival to replica i modulo the number of replicas.</source>
        <translation>第 i 个到达的请求交给第 i mod N 个副本。</translation>
    </message>
    <message>
        <source>Measured durations of whole steps, with linear interpolation between them.</source>
        <translation>按实测的整步时长计，测点之间线性插值。</translation>
    </message>
    <message>
        <source>Calibration (JSON) with a table of whole step times (kvplan calibration info FILE shows it)</source>
        <translation>含整步时长表的标定文件（JSON）</translation>
    </message>
    <message>
        <source>A step takes the longer of compute time and memory read time at a share of the device&apos;s peaks, plus an overhead.</source>
        <translation>按设备峰值的一定比例，取计算与读取中较长者，再加固定开销。</translation>
    </message>
    <message>
        <source>Size of the KV-cache pool in blocks, including the null block (num_gpu_blocks)</source>
        <translation>同上，以块计，含空块（num_gpu_blocks）</translation>
    </message>
    <message>
        <source>Size of the KV-cache pool in tokens</source>
        <translation>同上，以 token 计</translation>
    </message>
    <message>
        <source>think scale</source>
        <translation>停顿倍数</translation>
    </message>
    <message>
        <source>Fixed time per step</source>
        <translation>每步的时间</translation>
    </message>
    <message>
        <source>Fixed time per step outside kernels: launches, scheduling, sampling</source>
        <translation>每步中内核以外的时间：启动、调度、采样</translation>
    </message>
    <message>
        <source>Target: longest allowed time per output token (TPOT)</source>
        <translation>每个输出 token 应达到的时间</translation>
    </message>
    <message>
        <source>Time per token computed in the step</source>
        <translation>步内每个计算 token 的时间</translation>
    </message>
    <message>
        <source>Time per token of context that the step reads</source>
        <translation>步内读取的每个上下文 token 的时间</translation>
    </message>
    <message>
        <source>DistServe&apos;s two formulas: prefill time by prompt tokens and squared prompt lengths, decode time by requests and context tokens.</source>
        <translation>提示按其 token 数和平方、解码按请求数和上下文计时，各用一个公式。</translation>
    </message>
    <message>
        <source>prefill base ns</source>
        <translation>预填充基础时间</translation>
    </message>
    <message>
        <source>Fixed time of a step with prompt tokens: C3</source>
        <translation>含提示的每一步的时间：C3</translation>
    </message>
    <message>
        <source>prefill token ns</source>
        <translation>预填充计算时间</translation>
    </message>
    <message>
        <source>Time per token computed in a step with prompt tokens: C1 (4 h^2 + 2 h m)</source>
        <translation>含提示的步内每个计算 token 的时间：C1 (4 h^2 + 2 h m)</translation>
    </message>
    <message>
        <source>prefill square ns</source>
        <translation>预填充平方时间</translation>
    </message>
    <message>
        <source>Time per squared prompt length: 3 C2 h / b</source>
        <translation>提示 token 数的平方每一单位的时间：3 C2 h / b</translation>
    </message>
    <message>
        <source>decode base ns</source>
        <translation>解码基础时间</translation>
    </message>
    <message>
        <source>Fixed time of a step with decoding requests only: C4 (4 h^2 + 2 h m)</source>
        <translation>所有请求都在解码的每一步的时间：C4 (4 h^2 + 2 h m)</translation>
    </message>
    <message>
        <source>decode request ns</source>
        <translation>解码请求时间</translation>
    </message>
    <message>
        <source>Time per request in a step with decoding requests only; 0 in the paper</source>
        <translation>所有请求都在解码的步内每个请求的时间；论文中为 0</translation>
    </message>
    <message>
        <source>decode context ns</source>
        <translation>解码上下文时间</translation>
    </message>
    <message>
        <source>Time per context token that a step reads, with or without prompt tokens: 3 C5 h</source>
        <translation>任一种步内读取的每个上下文 token 的时间：3 C5 h</translation>
    </message>
    <message>
        <source>from s</source>
        <translation>开始时间</translation>
    </message>
    <message>
        <source>to s</source>
        <translation>结束时间</translation>
    </message>
    <message>
        <source>prices</source>
        <translation>价格</translation>
    </message>
    <message>
        <source>Price list (JSON) of devices, for the cost of a run</source>
        <translation>设备价格表（JSON）：一次运行的费用</translation>
    </message>
    <message>
        <source>Only requests that arrive from this time on (counted from the first arrival) enter latencies and targets</source>
        <translation>延迟与目标只计此时及以后到达的请求，自首个请求到达起算</translation>
    </message>
    <message>
        <source>Only requests that arrive before this time (counted from the first arrival) enter latencies and targets</source>
        <translation>延迟与目标只计此时之前到达的请求，自首个请求到达起算</translation>
    </message>
    <message>
        <source>Share of the arrived requests that must meet all targets</source>
        <translation>到达的请求中须满足全部目标的比例</translation>
    </message>
    <message>
        <source>percentiles s</source>
        <translation>百分位数</translation>
    </message>
    <message>
        <source>Percentile targets, checked separately: LATENCY.pN=SECONDS separated by commas, such as ttft.p99=2,tpot.p50=0.05 (ttft, tpot, e2e, queue)</source>
        <translation>各自须达到的百分位数（秒），用逗号分隔，例如 ttft.p99=2,tpot.p50=0.05（也可用 e2e.p99、queue.p99）</translation>
    </message>
    <message>
        <source>Target: longest allowed time to first token (TTFT)</source>
        <translation>首个 token 应达到的时间</translation>
    </message>
    <message>
        <source>Target: longest allowed time to the last token</source>
        <translation>最后一个 token 应达到的时间</translation>
    </message>
    <message>
        <source>token budget</source>
        <translation>token 预算</translation>
    </message>
    <message>
        <source>token ns</source>
        <translation>计算时间</translation>
    </message>
    <message>
        <source>tokens</source>
        <translation>token</translation>
    </message>
    <message>
        <source>Maximum number of tokens computed in one step (max_num_batched_tokens)</source>
        <translation>一步最多计算的 token 数（max_num_batched_tokens）</translation>
    </message>
    <message>
        <source>Tokens that each layer keeps</source>
        <translation>每层保留的 token 数</translation>
    </message>
    <message>
        <source>Tokens kept for their accumulated attention (heavy hitters)</source>
        <translation>因累积注意力高而保留的 token 数</translation>
    </message>
    <message>
        <source>Tokens per block; a block covers all layers and KV heads</source>
        <translation>一块的 token 数；一块跨所有层和头</translation>
    </message>
    <message>
        <source>all: one block table per request, as in vLLM. layer or head: one table per layer or per KV head, which lets blocks be freed where a token policy keeps less. Each block adds 4 bytes for its table entry</source>
        <translation>一个请求有一张跨所有层的块表（如 vLLM），或每层、每个存储头各一张，使 token 策略保留较少处的块得以归还；此时每块多 4 字节作表项</translation>
    </message>
    <message>
        <source>Tokens per block; a block covers the layers of one group and all their KV heads</source>
        <translation>一块的 token 数；一块跨一组层及其全部头</translation>
    </message>
    <message>
        <source>Tokens per prefix id (block hash) of the trace file, for formats that do not state it</source>
        <translation>轨迹文件中一个前缀编号代表的 token 数，在格式没有规定时使用</translation>
    </message>
    <message>
        <source>Maximum number of tokens of one prompt computed in one step; 0 = no limit (long_prefill_token_threshold)</source>
        <translation>一个提示在一步中最多的 token 数；0 = 不限（long_prefill_token_threshold）</translation>
    </message>
    <message>
        <source>Tokens that each query reads</source>
        <translation>每个查询读取的 token 数</translation>
    </message>
    <message>
        <source>tp</source>
        <translation>张量并行</translation>
    </message>
    <message>
        <source>tpot s</source>
        <translation>输出间隔</translation>
    </message>
    <message>
        <source>trace</source>
        <translation>轨迹</translation>
    </message>
    <message>
        <source>Trace file: a .kvt or any importable file</source>
        <translation>轨迹文件：.kvt 或任何可导入的文件</translation>
    </message>
    <message>
        <source>ttft s</source>
        <translation>首个 token</translation>
    </message>
    <message>
        <source>unmap us</source>
        <translation>解除映射时间</translation>
    </message>
    <message>
        <source>weight bits</source>
        <translation>权重位数</translation>
    </message>
    <message>
        <source>Weights and KV cache, as a share of the free memory before loading; the default is the engine&apos;s own for an 80 GB device, prefill chunks of 8,192 and CUDA graphs up to batch 256</source>
        <translation>权重和 KV 缓存占加载前空闲内存的份额；默认值是引擎在 80 GB、提示分块 8,192、计算图至多 256 个请求时的选择</translation>
    </message>
    <message>
        <source>weights bytes</source>
        <translation>权重字节数</translation>
    </message>
    <message>
        <source>Weight bytes of a rank as loaded; default: the model&apos;s parameters times their bits</source>
        <translation>一个进程加载后的权重，代替模型参数数乘以位数</translation>
    </message>
    <message>
        <source>Weights that are summed: of the softmax over what is kept (renorm), or as recorded (raw)</source>
        <translation>累加的权重：对所保留部分重新归一化（renorm），或按记录原样（raw）</translation>
    </message>
    <message>
        <source>The pool is the free memory after loading, minus a share of the free memory before loading that is reserved for activations and CUDA graphs.</source>
        <translation>加载后的空闲内存，减去加载前空闲内存的一部分；激活和计算图放在那里。</translation>
    </message>
    <message>
        <source>Bytes that libraries allocate while the engine loads and profiles; default: 128 MiB (assumed)</source>
        <translation>引擎加载和试运行时各库另外占用的内存；不给则假定 128 MiB</translation>
    </message>
    <message>
        <source>When the pages of a finished request are unmapped: when another request needs pages, or immediately</source>
        <translation>请求结束后何时解除其页的映射：其他请求需要时，或立即</translation>
    </message>
    <message>
        <source>When later turns of recorded sessions arrive</source>
        <translation>记录的会话各轮何时到达</translation>
    </message>
    <message>
        <source>How recordings of another shape than the model&apos;s are used</source>
        <translation>形状与模型不同的注意力记录可以代表什么</translation>
    </message>
    <message>
        <source>Recordings of another shape than the model&apos;s are used too. A layer of the model keeps the tokens of the recorded layer at the same relative depth, and a KV head those of the recorded head at the same relative index. Heads with the same recorded head keep the same tokens.</source>
        <translation>形状不同的注意力记录也可驱动请求：模型的每一层保留相同深度的记录层所保留的词元，每个存储头保留相同位置的记录头所保留的词元。一个记录头代表多个头时，这些头保留相同的词元。</translation>
    </message>
    <message>
        <source>Whether a range grows without a copy if the memory after it is free</source>
        <translation>后面的内存空闲时，是否不复制就地延长</translation>
    </message>
    <message>
        <source>Whether allocated ranges are moved together when the total free memory suffices for a request but no single free range does</source>
        <translation>空闲内存总量足够而没有一段空闲足够长时，是否把占用的内存滑动靠拢</translation>
    </message>
    <message>
        <source>Whether the pages for the next token of decoding requests are mapped during the previous step</source>
        <translation>解码请求下一个 token 的页是否在前一步计算时映射</translation>
    </message>
    <message>
        <source>Use expandable segments: a segment grows in its own address range, instead of new segments being allocated</source>
        <translation>段是否在同一段地址中增长，而不是另建新段</translation>
    </message>
    <message>
        <source>Which free range is taken: the lowest large enough (first), the smallest large enough (best), or the first large enough after the latest allocation (next)</source>
        <translation>取用哪段空闲内存：足够大的最低一段、最小一段，或上次之后的下一段</translation>
    </message>
    <message>
        <source>Which replica serves a request</source>
        <translation>由哪个副本服务请求</translation>
    </message>
    <message>
        <source>Which tokens stay in the cache; none means full</source>
        <translation>哪些 token 留在缓存中；不淘汰即全部保留</translation>
    </message>
    <message>
        <source>window</source>
        <translation>窗口</translation>
    </message>
    <message>
        <source>workload</source>
        <translation>负载</translation>
    </message>
    <message>
        <source>workspace bytes</source>
        <translation>工作区字节数</translation>
    </message>
    <message>
        <source>zero bytes</source>
        <translation>零点字节数</translation>
    </message>
    <message>
        <source>Sends each request to the replica with the least load on arrival.</source>
        <translation>请求到达时交给负载最轻的副本。</translation>
    </message>
    <message>
        <source>Sends each request to the replica with the least 4 x waiting + running requests, as vLLM balances its data-parallel engines.</source>
        <translation>请求交给“4 × 等待数 + 运行数”最小的副本，与 vLLM 平衡其数据并行引擎的做法相同。</translation>
    </message>
    <message>
        <source>Sends each request to the replica with the longest cached part of its prompt (ties: the least loaded), unless the fleet is out of balance.</source>
        <translation>请求交给已缓存其提示最多的副本，相同时交给负载最轻的；各副本失去平衡时只看负载。</translation>
    </message>
    <message>
        <source>Sends each request to the least loaded of a few random replicas.</source>
        <translation>请求交给为其随机抽取的几个副本中负载最轻的一个。</translation>
    </message>
    <message>
        <source>choices</source>
        <translation>备选数</translation>
    </message>
    <message>
        <source>Number of different random candidates per request; all replicas are candidates if there are no more</source>
        <translation>为请求抽取的不同副本的个数；副本总数不超过此数时比较全部副本</translation>
    </message>
    <message>
        <source>Increase of the temperature per generated token; the paper goes from 1 to 2 over all generated tokens</source>
        <translation>每生成一个 token 温度所加的值；论文在全部生成过程中从 1 升到 2</translation>
    </message>
    <message>
        <source>Largest ratio of requests between the busiest and the idlest replica; load alone decides if difference and ratio are exceeded</source>
        <translation>并且是其多少倍</translation>
    </message>
    <message>
        <source>Upper bound: no policy that evicts down to this budget can keep more total attention</source>
        <translation>上界：任何淘汰到这一预算的策略，保留的注意力总量都不会更多</translation>
    </message>
    <message>
        <source>Evicts a share of the least important tokens whenever more than a budget are kept</source>
        <translation>保留的 token 超过预算时，丢弃其中最不重要的一部分</translation>
    </message>
    <message>
        <source>A row votes for the tokens with more than an even share of its weight. Evicts several tokens at a time: those with the fewest votes in the latest rows</source>
        <translation>每次丢弃若干 token：最近各行最少标记为重要的那些</translation>
    </message>
    <message>
        <source>Evicts the token that queries used least often, before the next token is written</source>
        <translation>在下一个 token 到来之前，丢弃查询使用次数最少的 token</translation>
    </message>
    <message>
        <source>Evicts the token that queries used longest ago, before the next token is written</source>
        <translation>在下一个 token 到来之前，丢弃查询最久未使用的 token</translation>
    </message>
    <message>
        <source>Evicts random tokens: a lower baseline for every other policy</source>
        <translation>随机丢弃 token：其他策略都应当胜过它</translation>
    </message>
    <message>
        <source>Evicts tokens when their maximum or mean attention falls below a threshold</source>
        <translation>丢弃注意力（取最大值或平均值）低于阈值的 token</translation>
    </message>
    <message>
        <source>Whether each KV head selects its own tokens, or all heads of a layer share one selection</source>
        <translation>每个存储的头各有一个集合，或每层一个</translation>
    </message>
    <message>
        <source>Score of a token: an expression of accumulated, last, windowed, age, position, tokens, prompt, layer, head, key_norm, value_norm, in quotes if it has commas. Tokens with the highest scores are kept</source>
        <translation>由 accumulated、last、windowed、age、position、tokens、prompt、layer、head、key_norm、value_norm 组成的表达式；含逗号时加引号。得分最高者保留</translation>
    </message>
    <message>
        <source>H2O as its masking simulation: it frees nothing, so runs refuse it</source>
        <translation>H2O 的掩码模拟形式：它不释放内存，所以运行会拒绝它</translation>
    </message>
    <message>
        <source>Keeps the newest tokens and the tokens with the most attention at a rising softmax temperature</source>
        <translation>保留最新的 token，以及在逐渐升高的温度下获得注意力最多的 token</translation>
    </message>
    <message>
        <source>Keeps the token sets in a file, which another program selected</source>
        <translation>按文件所写保留：由其他程序选定的集合</translation>
    </message>
    <message>
        <source>When the prompt ends, keeps its last tokens (window) and the tokens that the window attends to most</source>
        <translation>提示结束时，保留其最后的 token 以及它们最关注的 token</translation>
    </message>
    <message>
        <source>reads</source>
        <translation>注意力读取范围</translation>
    </message>
    <message>
        <source>What attention reads after a token policy evicted tokens. kept: only the kept tokens, by a kernel with a list of them. all: every token of the held blocks, masked, as vLLM&apos;s own kernels read every token of a block table up to its length (csrc/attention/attention_kernels.cuh)</source>
        <translation>token 策略丢弃 token 后，注意力读取的范围：仅保留的（内核知道是哪些），或仍被占用的块中的全部并加掩码，如原内核那样读取块表长度之内的每个 token</translation>
    </message>
    <message>
        <source>future</source>
        <translation>未来位置数</translation>
    </message>
    <message>
        <source>epsilon</source>
        <translation>附加项</translation>
    </message>
    <message>
        <source>When the prompt ends, keeps the tokens that future queries are expected to attend to; needs recorded queries and keys with their rotary embedding, and values or their norms</source>
        <translation>提示结束时，保留预期未来查询会关注的 token；需要记录的查询与键及其旋转，以及值或值的范数</translation>
    </message>
    <message>
        <source>First tokens, which are always kept and do not enter the statistics</source>
        <translation>最前的 token：先于其他保留，且不计数</translation>
    </message>
    <message>
        <source>Future positions over which the rotary embedding is averaged</source>
        <translation>对多少个未来位置的旋转取平均</translation>
    </message>
    <message>
        <source>Constant added to the expected attention before it is multiplied by the norm of the value</source>
        <translation>在与值的长度相乘之前，加到预期注意力上的量</translation>
    </message>
    <message>
        <source>As snapkv, but a part of the kept tokens is selected by attention times the contribution of the value to the layer&apos;s output; needs recorded values and output weights</source>
        <translation>与“窗口投票”策略相同，但保留的一部分按注意力乘以值对层输出的贡献来选；需要记录的值与输出权重</translation>
    </message>
    <message>
        <source>Share of the kept tokens before the window that is selected by votes alone</source>
        <translation>窗口之前保留的 token 中，仅由投票选出的份额</translation>
    </message>
    <message>
        <source>Constant added to a token&apos;s mean vote before the multiplication</source>
        <translation>在相乘之前，加到 token 平均票数上的量</translation>
    </message>
    <message>
        <source>When the prompt ends, keeps the tokens that received most attention per query</source>
        <translation>提示结束时，保留其中平均每个查询所给注意力最多的一部分</translation>
    </message>
    <message>
        <source>Keyformer as in its public GPT-J code: the set of key tokens is fixed at the end of the prompt</source>
        <translation>Keyformer 公开的 GPT-J 代码的做法：提示结束时键即固定</translation>
    </message>
    <message>
        <source>Uses future knowledge: evicts the token with the least attention from all later queries together</source>
        <translation>预知未来：丢弃此后所有查询合计关注最少的 token</translation>
    </message>
    <message>
        <source>Last tokens of the prompt: always kept, and their attention rows are the scores</source>
        <translation>提示最后的 token：始终保留，得分取自它们的各行</translation>
    </message>
    <message>
        <source>Number of latest rows that the variable `windowed` sums</source>
        <translation>`windowed` 所求和的最近行数</translation>
    </message>
    <message>
        <source>Number of latest rows that vote</source>
        <translation>其标记计入的最近行数</translation>
    </message>
    <message>
        <source>Number of the layer that gives the random stream; -1: each layer uses its own stream</source>
        <translation>抽取哪一层的随机数；-1 为正在决定的那一层</translation>
    </message>
    <message>
        <source>Measure of load: running and waiting requests, their tokens so far, or the blocks that they hold</source>
        <translation>副本的负载：运行或等待的请求数、它们至今的 token 数，或它们占用的块数</translation>
    </message>
    <message>
        <source>Maximum number of tokens kept</source>
        <translation>最多保留的 token 数</translation>
    </message>
    <message>
        <source>Width of the pooling over neighbouring scores; odd</source>
        <translation>一起池化的相邻得分数；须为奇数</translation>
    </message>
    <message>
        <source>Newest tokens, never evicted</source>
        <translation>不可丢弃的最新 token 数</translation>
    </message>
    <message>
        <source>Newest tokens; one fewer than this is visible</source>
        <translation>保持其累积值的最新 token 数；显示时少一个</translation>
    </message>
    <message>
        <source>Of the lots</source>
        <translation>随机数的种子</translation>
    </message>
    <message>
        <source>How the weights that a token received become its importance: the largest weight, the mean, or a mean in which older rows decay</source>
        <translation>token 所得权重的最大值、平均值，或旧行逐渐衰减的平均值</translation>
    </message>
    <message>
        <source>Percentage of the kept tokens that are the newest ones</source>
        <translation>其中最新部分的百分比</translation>
    </message>
    <message>
        <source>Pool scores by their average or by their maximum</source>
        <translation>池化取平均值或最大值</translation>
    </message>
    <message>
        <source>Largest difference in requests between the busiest and the idlest replica; above it, load alone may decide</source>
        <translation>最忙的副本可以比最闲的多多少个请求；超过后只看负载</translation>
    </message>
    <message>
        <source>JSON file of retained token sets, with the keys that `kvplan evict --json` prints (prefill_len, after_prefill, steps), for one layer or for all</source>
        <translation>以 JSON 写成的保留集合，键名与 kvplan evict --json 的输出相同：prefill_len、after_prefill、steps；可为一层或多层</translation>
    </message>
    <message>
        <source>Normalise a head&apos;s scores by the sum of its own top scores</source>
        <translation>一个头的得分按其自身最佳项所占的比例计入</translation>
    </message>
    <message>
        <source>Share of the budget that every head gets regardless of its scores</source>
        <translation>预算中每个头自有的份额</translation>
    </message>
    <message>
        <source>Share of the prompt that is evicted: int(P * (1 - ratio)) tokens stay</source>
        <translation>提示中丢弃的比例：保留 int(P * (1 - ratio)) 个 token</translation>
    </message>
    <message>
        <source>Share of the kept tokens that is evicted at a time, at least one token</source>
        <translation>每次丢弃所保留部分的比例，至少一个 token</translation>
    </message>
    <message>
        <source>SnapKV with a budget per head: heads of a layer with more of the top scores get more</source>
        <translation>SnapKV，但预算移向同层中占有更多最佳得分的头</translation>
    </message>
    <message>
        <source>Softmax temperature for the prompt&apos;s rows</source>
        <translation>提示各行的温度</translation>
    </message>
    <message>
        <source>Whether the file has one set per KV head or one per layer</source>
        <translation>文件中每个存储的头各有一个集合，或每层一个</translation>
    </message>
    <message>
        <source>Sends the first request of a session to the least loaded replica, and its other requests to the same replica.</source>
        <translation>会话的第一个请求交给负载最轻的副本，其余请求交给同一副本。</translation>
    </message>
    <message>
        <source>Which token is evicted: the one used least often (lfu) or used longest ago (lru)</source>
        <translation>丢弃哪一个：使用次数最少（lfu），或最久未使用（lru）</translation>
    </message>
    <message>
        <source>Number of kept tokens above which a share is evicted</source>
        <translation>达到多少 token 后丢弃其中一部分</translation>
    </message>
    <message>
        <source>Tokens kept</source>
        <translation>保留的 token 数</translation>
    </message>
    <message>
        <source>Tokens kept, as a percentage of the prompt</source>
        <translation>保留的 token 数，占提示的百分比</translation>
    </message>
    <message>
        <source>Tokens kept, including the newest</source>
        <translation>保留的 token 数，包含最新的</translation>
    </message>
    <message>
        <source>Tokens with less importance than this are evicted</source>
        <translation>重要性低于此值的 token 被丢弃</translation>
    </message>
    <message>
        <source>Tokens of the prompt that are kept, including the window</source>
        <translation>提示中保留的 token 数，包含窗口</translation>
    </message>
    <message>
        <source>Tokens visible for their accumulated attention (heavy hitters)</source>
        <translation>因累积注意力而显示的 token 数（高注意力）</translation>
    </message>
    <message>
        <source>Tokens evicted at a time; 0 means half of the budget, as in the paper</source>
        <translation>每次丢弃的 token 数；0 表示预算的一半，与论文相同</translation>
    </message>
    <message>
        <source>A query counts as using a token if its attention weight is at least this</source>
        <translation>权重达到多少时，token 视为被查询使用</translation>
    </message>
    <message>
        <source>Weights that enter the scores: softmax over the kept tokens only (renorm), or the recorded weights (raw)</source>
        <translation>构成得分的权重：在保留部分上重新归一化（renorm），或按记录（raw）</translation>
    </message>
    <message>
        <source>Decay: factor on a row&apos;s weights for each later row</source>
        <translation>衰减时：再过一行后该行的权重</translation>
    </message>
    <message>
        <source>A user-defined policy: keeps the tokens with the highest value of an expression</source>
        <translation>自定义：保留得分最高的 token，得分是一个表达式</translation>
    </message>
    <message>
        <source>balance abs</source>
        <translation>平衡差值</translation>
    </message>
    <message>
        <source>balance rel</source>
        <translation>平衡倍数</translation>
    </message>
    <message>
        <source>by</source>
        <translation>依据</translation>
    </message>
    <message>
        <source>capacity</source>
        <translation>容量</translation>
    </message>
    <message>
        <source>drop</source>
        <translation>丢弃数</translation>
    </message>
    <message>
        <source>file</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>floor</source>
        <translation>下限</translation>
    </message>
    <message>
        <source>fraction</source>
        <translation>比例</translation>
    </message>
    <message>
        <source>gamma</source>
        <translation>衰减系数</translation>
    </message>
    <message>
        <source>hir</source>
        <translation>跨距短块的份额</translation>
    </message>
    <message>
        <source>While the cache fills for the first time, insert blocks into the main queue once the small queue has its share (libCacheSim 0.3.5)</source>
        <translation>在尚未有块离开之前，小队列满其份额后，新块是否进入主队列</translation>
    </message>
    <message>
        <source>history</source>
        <translation>历史行数</translation>
    </message>
    <message>
        <source>importance</source>
        <translation>重要性</translation>
    </message>
    <message>
        <source>kernel</source>
        <translation>核宽</translation>
    </message>
    <message>
        <source>kv percent</source>
        <translation>保留百分比</translation>
    </message>
    <message>
        <source>layer</source>
        <translation>层</translation>
    </message>
    <message>
        <source>mode</source>
        <translation>方式</translation>
    </message>
    <message>
        <source>normalize</source>
        <translation>归一化</translation>
    </message>
    <message>
        <source>pooling</source>
        <translation>池化</translation>
    </message>
    <message>
        <source>recent percent</source>
        <translation>最新百分比</translation>
    </message>
    <message>
        <source>scope</source>
        <translation>范围</translation>
    </message>
    <message>
        <source>score</source>
        <translation>得分</translation>
    </message>
    <message>
        <source>tau delta</source>
        <translation>温度增量</translation>
    </message>
    <message>
        <source>tau init</source>
        <translation>初始温度</translation>
    </message>
    <message>
        <source>theta</source>
        <translation>阈值参数</translation>
    </message>
    <message>
        <source>threshold</source>
        <translation>阈值</translation>
    </message>
    <message>
        <source>Prefill batches before decode batches, radix-tree prefix caching, admission by the tokens that running requests may still generate, and retraction of the requests that generated least. Its pages are the allocator&apos;s blocks (SGLang&apos;s own default page is 1 token).</source>
        <translation>预填充批先于解码批，前缀放在基数树中，按运行中请求还可能生成的量准入，收回生成最少的请求。页即分配器的块（原系统默认为 1）。</translation>
    </message>
    <message>
        <source>Queue order and preemption order: fcfs admits by arrival and preempts the latest; priority admits and preempts by the requests&apos; priorities (scheduling_policy)</source>
        <translation>排队顺序与抢占顺序：先到先服务，最晚到达者最先被抢占；或按请求的优先级</translation>
    </message>
    <message>
        <source>Order of the waiting queue: fcfs serves by arrival, lpm serves the longest cached prefix first (schedule_policy)</source>
        <translation>排队顺序：先到先服务，或已缓存前缀最长者优先</translation>
    </message>
    <message>
        <source>Maximum number of requests running at once</source>
        <translation>同时运行的请求数上限</translation>
    </message>
    <message>
        <source>Maximum number of tokens in a prefill batch; its first request may exceed this</source>
        <translation>预填充批的 token 数上限，批中第一个请求可以超过</translation>
    </message>
    <message>
        <source>Maximum number of tokens in a prefill batch, to which prompts are cut; a multiple of the block; 0 = no limit</source>
        <translation>预填充批的 token 数上限，提示按它切分：须为整块；0 表示不限</translation>
    </message>
    <message>
        <source>Prefix caching: share equal prefixes in a radix tree (false: disable_radix_cache)</source>
        <translation>相同前缀在基数树中共享并可再次找到</translation>
    </message>
    <message>
        <source>Longest request: prompt plus output must be at least two tokens shorter, otherwise the request is rejected</source>
        <translation>提示加输出与此值相差不到两个 token 的请求被拒绝</translation>
    </message>
    <message>
        <source>The initial new-token ratio is this factor times 0.7: the share of the tokens that running requests may still generate for which memory is reserved</source>
        <translation>运行中请求还可能生成的量，起初保留其中 0.7 倍乘以此值</translation>
    </message>
    <message>
        <source>Decode steps in which the new-token ratio falls to 14 percent of its initial value (SGLANG_NEW_TOKEN_RATIO_DECAY_STEPS)</source>
        <translation>该比例降至自身百分之 14 所经的解码步数</translation>
    </message>
    <message>
        <source>Maximum number of future tokens that admission assumes for one request (SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION)</source>
        <translation>一个请求按还将生成计入的 token 数上限</translation>
    </message>
    <message>
        <source>Decode steps that must fit into memory after a retraction (SGLANG_RETRACT_DECODE_STEPS)</source>
        <translation>收回请求时为多少解码步腾出空间</translation>
    </message>
    <message>
        <source>policy</source>
        <translation>策略</translation>
    </message>
    <message>
        <source>max running requests</source>
        <translation>最多运行请求数</translation>
    </message>
    <message>
        <source>max prefill tokens</source>
        <translation>最多预填充 token 数</translation>
    </message>
    <message>
        <source>chunked prefill size</source>
        <translation>预填充分块大小</translation>
    </message>
    <message>
        <source>context length</source>
        <translation>上下文长度</translation>
    </message>
    <message>
        <source>schedule conservativeness</source>
        <translation>调度保守程度</translation>
    </message>
    <message>
        <source>decay steps</source>
        <translation>衰减步数</translation>
    </message>
    <message>
        <source>clip tokens</source>
        <translation>截断 token 数</translation>
    </message>
    <message>
        <source>retract decode steps</source>
        <translation>收回解码步数</translation>
    </message>
    <message>
        <source>A step takes the sum of weights, measured decode attention, prefill attention, links between ranks and kernel launches.</source>
        <translation>权重、实测的解码注意力、提示、进程间链路与内核启动的时间依次相加。</translation>
    </message>
    <message>
        <source>Use decode attention times that were measured with this engine&apos;s kernels</source>
        <translation>解码注意力查表时采用哪个引擎的内核</translation>
    </message>
    <message>
        <source>Version of the kernels, or newest for the latest measured version</source>
        <translation>这些内核的版本；默认取最近一次实测的版本</translation>
    </message>
    <message>
        <source>Share of the device&apos;s peak bandwidth at which weights are read</source>
        <translation>读取权重时达到的设备带宽比例</translation>
    </message>
    <message>
        <source>Share of the peak FLOP/s that matrix products reach</source>
        <translation>矩阵乘法达到的峰值 FLOP/s 比例</translation>
    </message>
    <message>
        <source>Share of the peak FLOP/s that prefill attention reaches</source>
        <translation>提示的注意力达到的峰值 FLOP/s 比例</translation>
    </message>
    <message>
        <source>Share of the links&apos; rates that communication between ranks reaches</source>
        <translation>进程之间传输达到的链路速率比例</translation>
    </message>
    <message>
        <source>Fixed time per communication between ranks, in addition to the transfer</source>
        <translation>进程间每次交换在链路传输之外的时间</translation>
    </message>
    <message>
        <source>Fixed time per kernel launch, in addition to its work</source>
        <translation>每个内核在计算之外的时间</translation>
    </message>
    <message>
        <source>Fixed time per step outside kernels: scheduling, sampling</source>
        <translation>每步在内核之外的时间：调度、采样</translation>
    </message>
    <message>
        <source>Devices per node, which are connected without the network</source>
        <translation>一个节点的设备数，节点内互通不经过网络</translation>
    </message>
    <message>
        <source>Network bandwidth between nodes per device and direction, bytes/s (default: InfiniBand NDR)</source>
        <translation>节点间网络，每台设备每个方向每秒的字节数（默认：50 GB/s）</translation>
    </message>
    <message>
        <source>engine version</source>
        <translation>引擎版本</translation>
    </message>
    <message>
        <source>attention efficiency</source>
        <translation>注意力效率</translation>
    </message>
    <message>
        <source>link efficiency</source>
        <translation>链路效率</translation>
    </message>
    <message>
        <source>collective ns</source>
        <translation>集合通信 ns</translation>
    </message>
    <message>
        <source>kernel ns</source>
        <translation>内核 ns</translation>
    </message>
    <message>
        <source>node devices</source>
        <translation>节点设备数</translation>
    </message>
    <message>
        <source>network</source>
        <translation>网络</translation>
    </message>
    <message>
        <source>A sliding window that writes the newest tokens and evicts the oldest ones in chunks</source>
        <translation>滑动窗口：最新的 token 成块写入，最旧的成块丢弃</translation>
    </message>
    <message>
        <source>Tokens in the ring buffer</source>
        <translation>环形缓冲区容纳的 token 数</translation>
    </message>
    <message>
        <source>Tokens written at a time, aligned to the start of the sequence</source>
        <translation>每次写入的 token 数，从序列第一个 token 起计</translation>
    </message>
    <message>
        <source>chunk</source>
        <translation>块</translation>
    </message>
    <message>
        <source>When the prompt ends, keeps the question and the context tokens that the question attends to most</source>
        <translation>提示结束时，保留问题以及问题最关注的上下文</translation>
    </message>
    <message>
        <source>Tokens of the question, which is at the end of the prompt</source>
        <translation>问题的 token 数，问题位于提示末尾</translation>
    </message>
    <message>
        <source>Share of the prompt that is evicted</source>
        <translation>提示中被丢弃的比例</translation>
    </message>
    <message>
        <source>SnapKV with a capacity that decreases from the first layer to the last</source>
        <translation>容量从第一层到最后一层递减的 SnapKV</translation>
    </message>
    <message>
        <source>The last layer has the base budget divided by this number</source>
        <translation>最后一层的预算是基本预算除以此数</translation>
    </message>
    <message>
        <source>Heads with high learned gates keep everything; the other heads keep first and newest tokens</source>
        <translation>门控值高的头保留全部，其余的头只保留最前和最新的 token</translation>
    </message>
    <message>
        <source>Learned gate of each KV head: a JSON file with one list per layer, or the lists themselves</source>
        <translation>每个存储头学到的门控值：每层一个列表的 JSON 文件，或列表本身</translation>
    </message>
    <message>
        <source>Share of all heads in the model that keep only first and newest tokens (streaming heads)</source>
        <translation>模型所有头中只保留最前和最新 token 的比例</translation>
    </message>
    <message>
        <source>First tokens that streaming heads keep</source>
        <translation>这些头保留的最前 token 数</translation>
    </message>
    <message>
        <source>Newest tokens that streaming heads keep</source>
        <translation>这些头保留的最新 token 数</translation>
    </message>
    <message>
        <source>gates</source>
        <translation>门控值</translation>
    </message>
    <message>
        <source>sparsity</source>
        <translation>稀疏度</translation>
    </message>
    <message>
        <source>Induction and echo heads keep everything; the other heads keep first and newest tokens</source>
        <translation>归纳头和回声头保留全部，其余的头只保留最前和最新的 token</translation>
    </message>
    <message>
        <source>Induction score of each KV head, that is how much it attends to the token after an earlier occurrence of the same token: a JSON file with one list per layer, or the lists themselves</source>
        <translation>每个存储头对先前同类 token 之后那个 token 的关注程度：每层一个列表的 JSON 文件，或列表本身</translation>
    </message>
    <message>
        <source>Echo score of each KV head, that is how much it attends to earlier occurrences of the same token; same form as induction</source>
        <translation>每个存储头对先前同类 token 的关注程度，格式相同</translation>
    </message>
    <message>
        <source>Share of all heads that keep everything because of their induction score</source>
        <translation>因归纳而保留全部的头的比例</translation>
    </message>
    <message>
        <source>Share of all heads that keep everything because of their echo score</source>
        <translation>因回声而保留全部的头的比例</translation>
    </message>
    <message>
        <source>First tokens that the other heads keep</source>
        <translation>其余的头保留的最前 token 数</translation>
    </message>
    <message>
        <source>Newest tokens that the other heads keep</source>
        <translation>其余的头保留的最新 token 数</translation>
    </message>
    <message>
        <source>induction</source>
        <translation>归纳</translation>
    </message>
    <message>
        <source>echo</source>
        <translation>回声</translation>
    </message>
    <message>
        <source>induction share</source>
        <translation>归纳比例</translation>
    </message>
    <message>
        <source>echo share</source>
        <translation>回声比例</translation>
    </message>
    <message>
        <source>Each head uses the cheapest of five rules that keeps enough of the prompt&apos;s attention</source>
        <translation>每个头在五条规则中取能保住足够提示注意力的最省的一条</translation>
    </message>
    <message>
        <source>Share of the prompt&apos;s attention that a head&apos;s chosen rule must keep</source>
        <translation>头的规则须保住的提示注意力比例</translation>
    </message>
    <message>
        <source>First tokens, which count as special tokens; every rule keeps them</source>
        <translation>最前的特殊 token：每条规则都保留</translation>
    </message>
    <message>
        <source>Positions of punctuation in the prompt, such as 1;5;9</source>
        <translation>提示中标点的位置，如 1;5;9</translation>
    </message>
    <message>
        <source>Tokens kept for their attention, as a share of the prompt</source>
        <translation>因注意力而保留的 token，占提示的比例</translation>
    </message>
    <message>
        <source>Newest tokens kept, as a share of the prompt</source>
        <translation>保留的最新 token，占提示的比例</translation>
    </message>
    <message>
        <source>recovery</source>
        <translation>保住比例</translation>
    </message>
    <message>
        <source>special</source>
        <translation>特殊</translation>
    </message>
    <message>
        <source>punctuation</source>
        <translation>标点</translation>
    </message>
    <message>
        <source>frequent</source>
        <translation>高关注</translation>
    </message>
    <message>
        <source>local</source>
        <translation>近处</translation>
    </message>
    <message>
        <source>Keeps the newest tokens for half of the budget, and the tokens most important to the last query for the other half</source>
        <translation>预算一半给最新的 token，一半给最后一个查询最看重的 token</translation>
    </message>
    <message>
        <source>Tokens kept; half of them are the newest</source>
        <translation>保留的 token 数，其中一半因为最新</translation>
    </message>
    <message>
        <source>Importance of a token: its weight in the last row; that weight divided by the sum of all weights up to the token (prefix); or the weight times the norm (value-norm) or the sum of elements (value-sum) of its value</source>
        <translation>最后一行中的权重；或该权重除以到该 token 为止的权重之和；或该权重乘以该 token 的值向量各元素绝对值之和，或各元素之和</translation>
    </message>
    <message>
        <source>weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <source>What makes a token valuable: its attention weight (mass), or the weight times the norm of its value (output)</source>
        <translation>看重 token 的什么：注意力，或注意力乘以其值向量的长度</translation>
    </message>
    <message>
        <source>A budget or threshold that adapts to the kept attention mass, the phase or the sequence length</source>
        <translation>随所见注意力、阶段或长度变化的预算或阈值</translation>
    </message>
    <message>
        <source>Tokens kept at the start; if theta is adjusted, this is the upper limit at all times</source>
        <translation>最初保留的 token 数；调整阈值时始终不超过它</translation>
    </message>
    <message>
        <source>What controls the adjustment: the attention mass that is kept (mass), prompt or decoding (phase), or the sequence length (length)</source>
        <translation>所调整的量随所见注意力、阶段或序列长度变化</translation>
    </message>
    <message>
        <source>Smallest budget</source>
        <translation>预算的下限</translation>
    </message>
    <message>
        <source>Largest budget</source>
        <translation>预算的上限</translation>
    </message>
    <message>
        <source>by=mass: below this share of attention, the budget grows by a quarter, or theta is divided by 1.25</source>
        <translation>按注意力：低于此比例时预算增加四分之一，θ 除以 1.25</translation>
    </message>
    <message>
        <source>by=mass: above this share of attention, the budget shrinks by a tenth, or theta is divided by 0.9</source>
        <translation>按注意力：高于此比例时预算减少十分之一，θ 除以 0.9</translation>
    </message>
    <message>
        <source>by=mass: generated tokens between two adjustments</source>
        <translation>按注意力：两次检查之间生成的 token 数</translation>
    </message>
    <message>
        <source>by=phase: tokens kept after the first generated token</source>
        <translation>按阶段：生成第一个 token 之后保留的 token 数</translation>
    </message>
    <message>
        <source>by=length: share of all tokens so far that is kept</source>
        <translation>按长度：保留的 token 占至今全部 token 的比例</translation>
    </message>
    <message>
        <source>What is adjusted: the budget, or theta, which is the importance below which tokens are evicted</source>
        <translation>变化的量：预算，或 θ，即低于它的 token 被丢弃的重要性</translation>
    </message>
    <message>
        <source>Importance below which tokens are evicted, at the start; with by=length it is multiplied by prompt / tokens as the sequence grows</source>
        <translation>最初低于它的 token 被丢弃的重要性；按长度时随序列增长而下降，乘以提示长度与 token 总数之比</translation>
    </message>
    <message>
        <source>Smallest theta with by=mass or by=length</source>
        <translation>按注意力或长度时 θ 的下限</translation>
    </message>
    <message>
        <source>Largest theta with by=mass or by=length</source>
        <translation>按注意力或长度时 θ 的上限</translation>
    </message>
    <message>
        <source>by=phase: theta after the first generated token</source>
        <translation>按阶段：生成第一个 token 之后的 θ</translation>
    </message>
    <message>
        <source>adjusts</source>
        <translation>调整</translation>
    </message>
    <message>
        <source>theta least</source>
        <translation>θ 下限</translation>
    </message>
    <message>
        <source>theta most</source>
        <translation>θ 上限</translation>
    </message>
    <message>
        <source>theta later</source>
        <translation>之后的 θ</translation>
    </message>
    <message>
        <source>least</source>
        <translation>下限</translation>
    </message>
    <message>
        <source>most</source>
        <translation>上限</translation>
    </message>
    <message>
        <source>low</source>
        <translation>低</translation>
    </message>
    <message>
        <source>high</source>
        <translation>高</translation>
    </message>
    <message>
        <source>every</source>
        <translation>间隔</translation>
    </message>
    <message>
        <source>later</source>
        <translation>之后</translation>
    </message>
    <message>
        <source>share</source>
        <translation>比例</translation>
    </message>
    <message>
        <source>Keeps the tokens with the smallest key norm; needs recorded keys</source>
        <translation>保留键最短的 token；需要记录键</translation>
    </message>
    <message>
        <source>Keeps the keys that are least similar to the mean key; needs recorded keys</source>
        <translation>保留与平均方向差别最大的键；需要记录键</translation>
    </message>
    <message>
        <source>Keeps the tokens with the keys and values that differ most from the next partition; needs recorded keys and values</source>
        <translation>保留键和值相对下一分区突出的 token；需要记录两者</translation>
    </message>
    <message>
        <source>Keeps tokens that are important to the latest queries and not redundant with other keys; needs recorded keys</source>
        <translation>保留最近查询需要、且不与其他键重复的 token；需要记录键</translation>
    </message>
    <message>
        <source>Generated tokens between two selections; 0 selects only once, at the end of the prompt</source>
        <translation>两次选择之间生成的 token 数；0 表示只在提示结束时选择一次</translation>
    </message>
    <message>
        <source>First tokens, which are always kept</source>
        <translation>优先保留的最前 token 数</translation>
    </message>
    <message>
        <source>Tokens per partition</source>
        <translation>一个分区的 token 数</translation>
    </message>
    <message>
        <source>lag</source>
        <translation>分区</translation>
    </message>
    <message>
        <source>Newest tokens: always kept, and their queries determine importance</source>
        <translation>最新的 token：总是保留，其查询决定哪些重要</translation>
    </message>
    <message>
        <source>Width of the max pooling over neighbouring scores; odd</source>
        <translation>取最大值的相邻分数个数；奇数</translation>
    </message>
    <message>
        <source>Generated tokens between two selections</source>
        <translation>两次选择之间生成的 token 数</translation>
    </message>
    <message>
        <source>Weight of importance in the score; redundancy has weight 1 - lambda</source>
        <translation>重要性所占的份量；其余归冗余</translation>
    </message>
    <message>
        <source>lambda</source>
        <translation>权衡</translation>
    </message>
    <message>
        <source>Each layer passes on only the tokens that the end of the prompt attends to, so deeper layers store fewer</source>
        <translation>每层只传下提示末尾所关注的 token；越深的层存储越少</translation>
    </message>
    <message>
        <source>Share of its context that the last layer passes on; the first layer passes on everything</source>
        <translation>最后一层传下的上下文比例；第一层全部传下</translation>
    </message>
    <message>
        <source>beta</source>
        <translation>β 除数</translation>
    </message>
    <message>
        <source>A block expires after its time to live; if room is needed earlier, evicts the block that expires first.</source>
        <translation>块存活一段时间；若更早需要空间，则时间最先到期的块被让出。</translation>
    </message>
    <message>
        <source>A hand moves from old to new through a FIFO list, skips blocks used since its last visit, and evicts the first block that was not.</source>
        <translation>指针沿先进先出列表从旧到新移动，放过上次经过后用过的块，取走第一个未用过的块。</translation>
    </message>
    <message>
        <source>A small FIFO queue for new blocks, a main FIFO queue with second chances, and a ghost queue of blocks evicted from the small one.</source>
        <translation>新块进入小的先进先出队列，主队列给予第二次机会，并记住离开小队列的块。</translation>
    </message>
    <message>
        <source>Each use gives a block a lease. The block with the earliest end of its lease is evicted.</source>
        <translation>使用已缓存的块会租用它一段时间；租期最先结束的块被让出。</translation>
    </message>
    <message>
        <source>Size of the ghost queue (blocks evicted from the FIFO queue), as a multiple of the cache</source>
        <translation>离开先进先出队列后仍被记住的块，为缓存的倍数</translation>
    </message>
    <message>
        <source>Size of the history of evicted blocks, as a multiple of the cache</source>
        <translation>被让出后仍被记住的块，为缓存的倍数</translation>
    </message>
    <message>
        <source>Size of the ghost queue, as a multiple of the cache</source>
        <translation>被记住的块，为缓存的倍数</translation>
    </message>
    <message>
        <source>Number of random candidates for eviction</source>
        <translation>抽取的块数，其中一块让出</translation>
    </message>
    <message>
        <source>History size of each expert, as a multiple of the cache</source>
        <translation>每个专家的历史所记住的块，为缓存的倍数</translation>
    </message>
    <message>
        <source>Segmented LRU: a block used again moves to a protected segment; the least recently used block outside it is evicted.</source>
        <translation>再次用过的块在一定份额内受保护；其余块中最久未用的被让出。</translation>
    </message>
    <message>
        <source>Fixed cost of recomputing a block, in units of the cost per earlier block</source>
        <translation>无上下文的块的代价，以所关注的上下文块数计</translation>
    </message>
    <message>
        <source>FIFO with a second chance: a block that was used since the last visit is skipped once.</source>
        <translation>先来先出，其间用过的块有第二次机会。</translation>
    </message>
    <message>
        <source>Greedy dual by recompute cost: a block costs a fixed part plus one unit per block before it in its prompt.</source>
        <translation>按重新计算一块的代价做贪心对偶：固定部分，加上其前每块一份。</translation>
    </message>
    <message>
        <source>Learning rate of the weights</source>
        <translation>权重跟随的快慢</translation>
    </message>
    <message>
        <source>Evicts by LRU or LFU, drawn at random by weights; a policy&apos;s weight falls when a block that it evicted is requested again.</source>
        <translation>由最近最少使用或最不经常使用指定让出的块，按权重抽取；被指定的块回来时其权重下降。</translation>
    </message>
    <message>
        <source>Number of latest reuse times per category, and of latest lifetimes, that estimates use</source>
        <translation>所考察的每类最近的重用时间与最近的停留时间的个数</translation>
    </message>
    <message>
        <source>LIRS: most of the cache holds blocks with a short time between their last two uses; other blocks pass through a queue.</source>
        <translation>缓存大部分属于最近两次使用间隔短的块；其余块经过一个队列。</translation>
    </message>
    <message>
        <source>New blocks enter a small LRU window. A block that leaves the window enters the main region only if it was used more often recently than the block that it would replace.</source>
        <translation>新块先经过小的最近最少使用窗口，之后只有近来比被替换者用得更多才留下。</translation>
    </message>
    <message>
        <source>New blocks enter a FIFO queue; a block that is requested again while its history is kept enters an LRU list.</source>
        <translation>新块经过先进先出队列；在被记住期间回来的块进入最近最少使用列表。</translation>
    </message>
    <message>
        <source>Draws random candidates and evicts the one with the fewest uses per time in the cache.</source>
        <translation>随机抽取若干块，其中相对于在缓存中的时间使用次数最少的块被让出。</translation>
    </message>
    <message>
        <source>Of the draws</source>
        <translation>抽取所用</translation>
    </message>
    <message>
        <source>Runs only: takes the block that was freed first, cached or not, as vLLM does.</source>
        <translation>仅用于运行：最先被放开的空闲块先被发出，无论是否已缓存，与 vLLM 相同。</translation>
    </message>
    <message>
        <source>Share of the cache above which blocks are evicted from the FIFO queue</source>
        <translation>先进先出队列超过此份额时让出块（占缓存的比例）</translation>
    </message>
    <message>
        <source>Share of the cache for HIR blocks (long reuse distance), at least one block</source>
        <translation>留给使用间隔长的块的缓存份额；至少一块</translation>
    </message>
    <message>
        <source>Share of the cache for the small queue</source>
        <translation>小队列的缓存份额</translation>
    </message>
    <message>
        <source>Share of the cache for the window, at least one block</source>
        <translation>窗口的缓存份额；至少一块</translation>
    </message>
    <message>
        <source>Share of the cache for the protected segment</source>
        <translation>受保护的块可占的缓存份额</translation>
    </message>
    <message>
        <source>Share of the main region for protected blocks</source>
        <translation>受保护的块可占其余部分的份额</translation>
    </message>
    <message>
        <source>Evicts the block that was inserted first.</source>
        <translation>最先到来的块被让出。</translation>
    </message>
    <message>
        <source>Evicts the block with the lowest estimated chance of reuse within a block&apos;s usual lifetime; the estimate is per request category.</source>
        <translation>按请求类别，在块的停留时间内最不可能再被使用的块被让出。</translation>
    </message>
    <message>
        <source>Evicts the least recently used block.</source>
        <translation>最久未用的块被让出。</translation>
    </message>
    <message>
        <source>Evicts the block with the fewest uses since insertion; among equals, the block that reached its count first.</source>
        <translation>到来后使用次数最少的块被让出；次数相同时取最先达到该次数的块。</translation>
    </message>
    <message>
        <source>Evicts the block with the oldest K-th latest use; blocks with fewer than K uses are evicted first.</source>
        <translation>倒数第 K 次使用最久远的块被让出；使用次数更少的块先被让出。</translation>
    </message>
    <message>
        <source>On each use a block&apos;s priority is set to L plus its number of uses. The block with the lowest priority is evicted, and L (0 at first) becomes that priority, so blocks not used recently age out.</source>
        <translation>优先级 = L + 使用次数，最小者被让出，L 变为其优先级。</translation>
    </message>
    <message>
        <source>The offline optimum: evicts the block with the farthest next use.</source>
        <translation>离线最优：下次使用最远的已缓存块被让出。</translation>
    </message>
    <message>
        <source>Time to live of a block</source>
        <translation>块存活的时间</translation>
    </message>
    <message>
        <source>Time of a lease</source>
        <translation>租期</translation>
    </message>
    <message>
        <source>Two LRU lists, one for blocks used once and one for blocks used again; their sizes adapt to the hits in each list&apos;s history.</source>
        <translation>两个最近最少使用列表，分别为用过一次和再次用过的块，其份额随被再次请求的块变化。</translation>
    </message>
    <message>
        <source>Uses in the small queue that move a block to the main queue</source>
        <translation>块在小队列中用过多少次可移入主队列</translation>
    </message>
    <message>
        <source>K: the number of latest uses that are remembered</source>
        <translation>回看的使用次数</translation>
    </message>
    <message>
        <source>Whether a new block may bypass the cache if its next use is farthest; otherwise it is always inserted</source>
        <translation>到来的块若下次使用最远，是否可留在外面；否则总是进入</translation>
    </message>
    <message>
        <source>Whether the cost is multiplied by the number of uses since insertion</source>
        <translation>代价是否乘以块到来后的使用次数</translation>
    </message>
    <message>
        <source>Whether each use restarts the time to live</source>
        <translation>每次使用时是否重新计时</translation>
    </message>
    <message>
        <source>Which cached block is evicted; ignored, with a warning, without prefix caching</source>
        <translation>在能再次找到前缀时，池中哪个已缓存的块让位给另一块；不能时忽略并给出警告</translation>
    </message>
    <message>
        <source>bypass</source>
        <translation>绕过</translation>
    </message>
    <message>
        <source>count uses</source>
        <translation>计入使用次数</translation>
    </message>
    <message>
        <source>fill main</source>
        <translation>填充主队列</translation>
    </message>
    <message>
        <source>flat</source>
        <translation>固定部分</translation>
    </message>
    <message>
        <source>ghost</source>
        <translation>记忆</translation>
    </message>
    <message>
        <source>in</source>
        <translation>入队份额</translation>
    </message>
    <message>
        <source>lease s</source>
        <translation>租期（秒）</translation>
    </message>
    <message>
        <source>life s</source>
        <translation>存活（秒）</translation>
    </message>
    <message>
        <source>out</source>
        <translation>出队记忆</translation>
    </message>
    <message>
        <source>promote uses</source>
        <translation>晋升次数</translation>
    </message>
    <message>
        <source>protected</source>
        <translation>受保护</translation>
    </message>
    <message>
        <source>rate</source>
        <translation>速率</translation>
    </message>
    <message>
        <source>renew</source>
        <translation>重新计时</translation>
    </message>
    <message>
        <source>replacement</source>
        <translation>替换</translation>
    </message>
    <message>
        <source>sample</source>
        <translation>抽样块数</translation>
    </message>
    <message>
        <source>small</source>
        <translation>小队列</translation>
    </message>
    <message>
        <source>2 bytes per element, lossless</source>
        <translation>每元素 2 字节，没有损失</translation>
    </message>
    <message>
        <source>Symmetric integers; all heads and tokens of one append share a 4-byte scale</source>
        <translation>对称整数，一次追加的所有头和 token 共用一个 4 字节缩放因子</translation>
    </message>
    <message>
        <source>bits</source>
        <translation>位数</translation>
    </message>
    <message>
        <source>Bits per code</source>
        <translation>一个编码的位数</translation>
    </message>
    <message>
        <source>scale</source>
        <translation>缩放因子</translation>
    </message>
    <message>
        <source>Scale: one per append (chunk); that of the prompt, fixed (static); or the largest so far (running), where a growing scale encodes all codes again</source>
        <translation>每次追加各一个，或一直用提示的那个，或用至今最大的一个：它变大时所有编码重新计算</translation>
    </message>
    <message>
        <source>rounding</source>
        <translation>舍入</translation>
    </message>
    <message>
        <source>Round to the nearest code, ties to even, or truncate towards zero</source>
        <translation>舍入到最近的编码、恰在中间取偶数，或向零截断</translation>
    </message>
    <message>
        <source>Integers with a 2-byte scale and zero point per token, or per group of its channels</source>
        <translation>整数，每个 token 或其每组通道各有 2 字节的缩放因子和零点</translation>
    </message>
    <message>
        <source>Channels of a token that share a scale; 0: all channels of the head</source>
        <translation>一个 token 中共用一个缩放因子的通道数；0 表示整个头</translation>
    </message>
    <message>
        <source>symmetric</source>
        <translation>对称</translation>
    </message>
    <message>
        <source>Symmetric codes without zero points; otherwise codes between the smallest and the largest number</source>
        <translation>编码以零为中心，没有零点；否则在最小数与最大数之间</translation>
    </message>
    <message>
        <source>Integers with a 2-byte scale and zero point per channel and group of tokens; tokens stay exact until their group is complete</source>
        <translation>整数，一组 token 的每个通道各有 2 字节的缩放因子和零点；组满之前 token 保持精确</translation>
    </message>
    <message>
        <source>Tokens of a channel that share a scale</source>
        <translation>一个通道中共用一个缩放因子的 token 数</translation>
    </message>
    <message>
        <source>1 byte of floating point per element; the scale is 1 or follows the prompt&apos;s largest number</source>
        <translation>每元素 1 字节浮点数，缩放因子为 1 或取自提示中最大的数</translation>
    </message>
    <message>
        <source>type</source>
        <translation>类型</translation>
    </message>
    <message>
        <source>E4M3 has 4 exponent and 3 mantissa bits, E5M2 has 5 and 2</source>
        <translation>指数 4 位、尾数 3 位，或 5 位和 2 位</translation>
    </message>
    <message>
        <source>one: the scale is 1. static: the scale is the prompt&apos;s largest absolute number divided by the type&apos;s largest, and stays fixed</source>
        <translation>固定为 1，或提示中最大的数除以该类型的最大数</translation>
    </message>
    <message>
        <source>What shares one scale: the keys (and the values) of all heads together, or those of each head</source>
        <translation>谁有一个缩放因子：所有头的键（值）合在一起，或每个头</translation>
    </message>
    <message>
        <source>4 bits of floating point per element; each 16 channels of a token share a 1-byte scale, and one more scale follows the prompt&apos;s largest number</source>
        <translation>每元素 4 位浮点数，一个 token 每 16 个通道有 1 字节缩放因子，另有一个取自提示中最大的数</translation>
    </message>
    <message>
        <source>4 bits of floating point per element; each 32 channels of a token share a 1-byte power-of-two scale</source>
        <translation>每元素 4 位浮点数，一个 token 每 32 个通道以 2 的幂作 1 字节缩放因子</translation>
    </message>
    <message>
        <source>Few-bit keys quantised per channel, values per token; the newest tokens stay exact</source>
        <translation>键按通道、值按 token 用很少的位数；最新的 token 保持精确</translation>
    </message>
    <message>
        <source>Group size for scales: tokens of a key channel, and channels of a value</source>
        <translation>键的一个通道中共用一个缩放因子的 token 数，以及值的通道数</translation>
    </message>
    <message>
        <source>residual</source>
        <translation>精确部分</translation>
    </message>
    <message>
        <source>Number of keys that are encoded together, and number of newest values that stay exact</source>
        <translation>一起编码的键数，以及保持精确的最新值数</translation>
    </message>
    <message>
        <source>Integers, a low-rank correction of the quantisation error, and exact outliers</source>
        <translation>整数，加上对其损失的低秩修正，极端元素保持精确</translation>
    </message>
    <message>
        <source>Exact tokens that are encoded together as one chunk</source>
        <translation>作为一块一起编码的精确 token 数</translation>
    </message>
    <message>
        <source>rank</source>
        <translation>秩</translation>
    </message>
    <message>
        <source>Rank of a chunk&apos;s low-rank correction</source>
        <translation>一块的修正的秩</translation>
    </message>
    <message>
        <source>outliers</source>
        <translation>离群值</translation>
    </message>
    <message>
        <source>Share of the elements of a key channel, or of a value, that stay exact as outliers; half of them are the largest, half the smallest</source>
        <translation>键的一个通道或一个值中保持精确的元素比例：一半为最大的，一半为最小的</translation>
    </message>
    <message>
        <source>Newest tokens are exact, the tokens before them are integers, and all older ones have fewer bits</source>
        <translation>最新的 token 精确，之前的用整数，更旧的用更少的位数</translation>
    </message>
    <message>
        <source>Newest tokens, which stay exact</source>
        <translation>保持精确的最新 token 数</translation>
    </message>
    <message>
        <source>middle</source>
        <translation>中间段</translation>
    </message>
    <message>
        <source>Number of tokens before the exact ones, stored with middle_bits</source>
        <translation>在它们之前、用中间位数的 token 数</translation>
    </message>
    <message>
        <source>Bits per code of all older tokens</source>
        <translation>所有更旧 token 的编码位数</translation>
    </message>
    <message>
        <source>middle bits</source>
        <translation>中间位数</translation>
    </message>
    <message>
        <source>Bits per code of the middle tokens</source>
        <translation>中间 token 的编码位数</translation>
    </message>
    <message>
        <source>Keeps the largest elements of each key and value, with a list or bitmap of their positions</source>
        <translation>每个键和值只留最大的元素，并用列表或位图记下位置</translation>
    </message>
    <message>
        <source>density</source>
        <translation>密度</translation>
    </message>
    <message>
        <source>Share of the elements of a vector that are kept, rounded up</source>
        <translation>一个向量中留下的元素比例，向上取整</translation>
    </message>
    <message>
        <source>Quantised pyramid of the design notes: each layer keeps its last tokens, fewer in higher layers, as truncated integers with one scale per append</source>
        <translation>最初笔记中的量化金字塔：最后的 token，层越高越少，用截断的整数，每次追加一个缩放因子</translation>
    </message>
    <message>
        <source>Index of the layer, from 0</source>
        <translation>层号，从 0 数起</translation>
    </message>
    <message>
        <source>layers</source>
        <translation>层数</translation>
    </message>
    <message>
        <source>Number of layers of the model</source>
        <translation>模型的层数</translation>
    </message>
    <message>
        <source>max len</source>
        <translation>最大长度</translation>
    </message>
    <message>
        <source>Tokens that the first layer keeps</source>
        <translation>第一层保留的 token 数</translation>
    </message>
    <message>
        <source>The last layer keeps this share of the first layer&apos;s tokens; the layers between are interpolated linearly</source>
        <translation>最后一层保留其中的比例；中间各层按直线变化</translation>
    </message>
    <message>
        <source>min size</source>
        <translation>最小数量</translation>
    </message>
    <message>
        <source>Minimum number of tokens per layer</source>
        <translation>每层都保留的 token 数</translation>
    </message>
    <message>
        <source>All tokens except the newest few as factors U, S, V, with a fixed rank or a rank by energy</source>
        <translation>除最新的几个外，所有 token 用固定秩的三个因子存放，或按能量取秩</translation>
    </message>
    <message>
        <source>Rank of the factors</source>
        <translation>因子的秩</translation>
    </message>
    <message>
        <source>update</source>
        <translation>更新间隔</translation>
    </message>
    <message>
        <source>Number of exact tokens after which all tokens are factorised again</source>
        <translation>精确 token 达到这个数时全部重新分解</translation>
    </message>
    <message>
        <source>compression ratio</source>
        <translation>压缩率</translation>
    </message>
    <message>
        <source>Above 0, it replaces rank by channels times (1 - compression_ratio), rounded down, at least 1</source>
        <translation>大于 0 时代替秩：通道数乘以（1 减压缩率），截断取整，至少为 1</translation>
    </message>
    <message>
        <source>energy</source>
        <translation>能量</translation>
    </message>
    <message>
        <source>Above 0, it replaces rank and compression_ratio: each factorisation uses the smallest rank with singular values that have this share of the sum of squares</source>
        <translation>大于 0 时代替以上两者：每次取奇异值平方和达到此比例的最小秩</translation>
    </message>
    <message>
        <source>Newest tokens are exact; older ones become low-rank chunks</source>
        <translation>最新的 token 精确；其中最旧的成为低秩块</translation>
    </message>
    <message>
        <source>Number of exact tokens at which a chunk is built</source>
        <translation>成块之前可以等待的精确 token 数</translation>
    </message>
    <message>
        <source>Rank of a chunk</source>
        <translation>一块的秩</translation>
    </message>
    <message>
        <source>keep recent</source>
        <translation>保留最新</translation>
    </message>
    <message>
        <source>Newest tokens that stay exact when a chunk is built</source>
        <translation>成块时保持精确的最新 token 数</translation>
    </message>
    <message>
        <source>factor v</source>
        <translation>分解值</translation>
    </message>
    <message>
        <source>Factorise the values of a chunk too; otherwise they stay exact</source>
        <translation>一块的值也分解为因子；否则保持精确</translation>
    </message>
    <message>
        <source>Coordinates in a low-rank basis that is learnt from the prompt and then fixed</source>
        <translation>在一组基中的坐标；基从提示学得，之后不变</translation>
    </message>
    <message>
        <source>Vectors in the basis of the keys</source>
        <translation>键的基的向量数</translation>
    </message>
    <message>
        <source>rank v</source>
        <translation>值的秩</translation>
    </message>
    <message>
        <source>Vectors in the basis of the values</source>
        <translation>值的基的向量数</translation>
    </message>
    <message>
        <source>basis</source>
        <translation>基</translation>
    </message>
    <message>
        <source>Learn the basis of the keys from keys alone, or from keys and queries</source>
        <translation>键的基从键学得，或从键和查询学得</translation>
    </message>
    <message>
        <source>method</source>
        <translation>方法</translation>
    </message>
    <message>
        <source>How a basis is computed: eigenvectors of the second-moment matrix (exact), or the span of this matrix times random signs (random)</source>
        <translation>外积之和的特征向量，或其与随机符号之积张成的空间</translation>
    </message>
    <message>
        <source>oversample</source>
        <translation>过采样</translation>
    </message>
    <message>
        <source>Oversampling: additional vectors in a random basis</source>
        <translation>随机基比秩多出的向量数</translation>
    </message>
    <message>
        <source>Seed of the random signs</source>
        <translation>随机符号的种子</translation>
    </message>
    <message>
        <source>Stores prompt tokens as the centres of their clusters; first, last and generated tokens stay exact</source>
        <translation>提示中的 token 以其簇的中心代替；开头、末尾和之后的保持精确</translation>
    </message>
    <message>
        <source>clusters</source>
        <translation>簇</translation>
    </message>
    <message>
        <source>Clusters</source>
        <translation>簇的数目</translation>
    </message>
    <message>
        <source>iterations</source>
        <translation>迭代次数</translation>
    </message>
    <message>
        <source>Maximum number of iterations of Lloyd&apos;s k-means algorithm</source>
        <translation>劳埃德方法的最多轮数</translation>
    </message>
    <message>
        <source>Last tokens of the prompt, which stay exact</source>
        <translation>提示末尾保持精确的 token 数</translation>
    </message>
    <message>
        <source>sinks</source>
        <translation>汇聚</translation>
    </message>
    <message>
        <source>First tokens, which stay exact</source>
        <translation>开头保持精确的 token 数</translation>
    </message>
    <message>
        <source>Seed of the initial centres</source>
        <translation>最初中心的种子</translation>
    </message>
    <message>
        <source>form</source>
        <translation>形式</translation>
    </message>
    <message>
        <source>paired: cluster the keys of each head, and store with each centre the mean of its values. seed: cluster keys of all heads together and values separately, as in the design notes</source>
        <translation>每个头的键，每个中心带其值的平均；或所有头的键合在一起、值另行聚类（最初的笔记）</translation>
    </message>
    <message>
        <source>Short name of int-tensor with the prompt&apos;s scale; with a group, of symmetric int-token</source>
        <translation>整张量整数加提示缩放因子的简称；给出分组时为按 token 的对称整数</translation>
    </message>
    <message>
        <source>Channels of a token that share a scale, a divisor of the head size; 0: one scale for the whole tensor</source>
        <translation>一个 token 中共用一个缩放因子的通道数，须整除头的通道数；0 表示全部共用一个</translation>
    </message>
    <message>
        <source>Short name of int-token with 4 bits; without a group, of int-tensor with the prompt&apos;s scale</source>
        <translation>按 token 的 4 位整数的简称；不分组时为整张量整数加提示缩放因子</translation>
    </message>
    <message>
        <source>Short name of nvfp4</source>
        <translation>上面 4 位浮点格式的简称</translation>
    </message>
    <message>
        <source>Non-uniform codes from a learnt table, keys per channel and values per token, with exact outliers</source>
        <translation>编码取自学得的数表，键按通道、值按 token，离群值保持精确</translation>
    </message>
    <message>
        <source>Share of the elements of a key&apos;s channel in the prompt, or of a value, that lie beyond the thresholds: half of them above, half below</source>
        <translation>提示中键的一个通道或一个值里超出阈值的元素比例：一半在上，一半在下</translation>
    </message>
    <message>
        <source>Maximum number of iterations of Lloyd&apos;s algorithm for the table</source>
        <translation>求数表时劳埃德方法的最多轮数</translation>
    </message>
    <message>
        <source>As pyramidkv, but each layer decides for itself whether the prompt is short</source>
        <translation>与金字塔预算相同，但每层自行判断提示是否较短</translation>
    </message>
    <message>
        <source>Last tokens of the prompt, always kept</source>
        <translation>提示末尾的 token，总是保留</translation>
    </message>
    <message>
        <source>Tokens that a layer or head keeps on average, including the window</source>
        <translation>每层或每头平均保留的 token 数，含窗口</translation>
    </message>
    <message>
        <source>Gives larger budgets to layers with evenly spread attention; the first two layers and the last keep everything</source>
        <translation>注意力均匀的层得到更多；前两层和最后一层全部保留</translation>
    </message>
    <message>
        <source>Share of the prompt that is kept because it is newest, averaged over layers</source>
        <translation>因最新而保留的提示比例，各层平均</translation>
    </message>
    <message>
        <source>Share of the prompt that is kept for its attention, averaged over layers</source>
        <translation>因注意力而保留的提示比例，各层平均</translation>
    </message>
    <message>
        <source>For each query head, the variance of the column sums of the prompt&apos;s attention. &quot;measured&quot; takes it from the recording. Otherwise a JSON file with one list per layer, or the lists themselves</source>
        <translation>提示注意力按列求和后每个查询头的方差：由记录测得，或取自每层一个列表的 JSON 文件，或直接写出这些列表</translation>
    </message>
    <message>
        <source>Distributes a part of the budget over all heads of the model by importance</source>
        <translation>把预算的一部分按重要性分给模型的所有头</translation>
    </message>
    <message>
        <source>Importance of each KV head: a JSON file with one list per layer, or the lists themselves</source>
        <translation>每个存储头的重要性：每层一个列表的 JSON 文件，或直接写出这些列表</translation>
    </message>
    <message>
        <source>The part of the budget that is distributed by importance is 1 / beta</source>
        <translation>参与分配的预算比例：若干份中的一份</translation>
    </message>
    <message>
        <source>Decreases from the first layer to the last; for a short prompt all layers have the same budget</source>
        <translation>从第一层到最后一层递减；短提示各层相同</translation>
    </message>
    <message>
        <source>A pyramid computed from a share of the prompt; all layers get the same budget if the pyramid does not fit</source>
        <translation>按提示比例形成的金字塔；放不下时各层相同</translation>
    </message>
    <message>
        <source>Last tokens of the prompt, which count towards each layer&apos;s budget</source>
        <translation>提示末尾的 token，计入每层预算</translation>
    </message>
    <message>
        <source>Decreases linearly from the first layer to the last; the sum is exact, and a layer&apos;s number may have a fraction</source>
        <translation>从第一层到最后一层线性递减；总和精确，token 数不取整</translation>
    </message>
    <message>
        <source>Tokens that all layers keep together</source>
        <translation>所有层合计保留的 token 数</translation>
    </message>
    <message>
        <source>The default in a scenario: the policy&apos;s own number of tokens, the same in every layer</source>
        <translation>用于场景：采用策略自己的 token 数，各层相同</translation>
    </message>
    <message>
        <source>The default in a scenario: sliding-window layers use the format of the other layers</source>
        <translation>用于场景：带窗口的层与其他层保存相同内容，格式相同</translation>
    </message>
    <message>
        <source>Decreases linearly from max_len to a share of it, after warm-up layers and not below a minimum</source>
        <translation>从最大长度线性降到其一定比例，有最小长度和预热层</translation>
    </message>
    <message>
        <source>Share of layers, counted from the first, that keep max_len tokens</source>
        <translation>从第一层起保留最大长度的层所占比例</translation>
    </message>
    <message>
        <source>The last layer keeps this share of max_len</source>
        <translation>最后一层保留其中的比例</translation>
    </message>
    <message>
        <source>Exponent</source>
        <translation>指数</translation>
    </message>
    <message>
        <source>Decreases as a power of depth: max_len x (1 - alpha x layer / layers)^beta</source>
        <translation>按深度的幂递减：最大长度乘以（1 减去系数乘层号除以层数）的幂</translation>
    </message>
    <message>
        <source>How far the base of the power decreases by the last layer</source>
        <translation>到最后一层时幂的底数下降多少</translation>
    </message>
    <message>
        <source>Decreases by a fixed table of layers: 100 % at layer 0, 15 % from layer 50 on</source>
        <translation>按层表递减：第 0 层全部保留，从第 50 层起为 15 %</translation>
    </message>
    <message>
        <source>Share of the prompt that layers keep on average</source>
        <translation>各层平均保留的提示比例</translation>
    </message>
    <message>
        <source>Share of the prompt that the most similar layers keep</source>
        <translation>最相似的层保留的提示比例</translation>
    </message>
    <message>
        <source>Cosine similarity of the hidden state before and after attention: a JSON file with one number per layer, or the numbers themselves</source>
        <translation>进出注意力的内容的相似度：每层一个单数列表的 JSON 文件，或直接写出这些列表</translation>
    </message>
    <message>
        <source>Moves budget away from layers in which attention changes the hidden state little</source>
        <translation>从注意力变化小的层取出预算，分给其他层</translation>
    </message>
    <message>
        <source>The same budget in every layer</source>
        <translation>各层相同</translation>
    </message>
    <message>
        <source>Another budget scheme, except that the first layers keep everything</source>
        <translation>采用另一方案，但最前面的层全部保留</translation>
    </message>
    <message>
        <source>Budget scheme for all layers, in quotes; the warm-up layers ignore their part of it</source>
        <translation>适用于所有层的方案，后面的层取其份额；写在引号中</translation>
    </message>
    <message>
        <source>Share of layers, counted from the first, that keep everything</source>
        <translation>从第一层起全部保留的层所占比例</translation>
    </message>
    <message>
        <source>How many tokens each layer or head keeps, instead of the policy&apos;s own number; none: the policy&apos;s number</source>
        <translation>每层或每头保留多少 token，代替策略给出的单一数目；不设则由策略决定</translation>
    </message>
    <message>
        <source>scores</source>
        <translation>分数</translation>
    </message>
    <message>
        <source>hh ratio</source>
        <translation>重点比例</translation>
    </message>
    <message>
        <source>recent ratio</source>
        <translation>最近比例</translation>
    </message>
    <message>
        <source>total</source>
        <translation>总数</translation>
    </message>
    <message>
        <source>warmup</source>
        <translation>预热</translation>
    </message>
    <message>
        <source>alpha</source>
        <translation>系数</translation>
    </message>
    <message>
        <source>Pairs of adjacent layers in the upper half share the directions of the prompt&apos;s keys and values, and keep their own norms</source>
        <translation>上半部分的两个相邻层共用提示的键和值的方向，各自保留长度</translation>
    </message>
    <message>
        <source>Position of the shared direction on the arc from the lower layer&apos;s direction to the upper layer&apos;s</source>
        <translation>共用方向在下层方向到上层方向的弧上的位置</translation>
    </message>
    <message>
        <source>keep</source>
        <translation>保留</translation>
    </message>
    <message>
        <source>Which prompt tokens stay unmerged: a fixed share with the largest angles (share), those in the far end of the range of angles (far), or those in the near end (near)</source>
        <translation>提示中不合并的 token：夹角最大的一部分；或夹角范围远端的，或近端的</translation>
    </message>
    <message>
        <source>keep=share: share of the prompt&apos;s tokens that stay unmerged</source>
        <translation>不合并的提示 token 的比例（按比例保留时）</translation>
    </message>
    <message>
        <source>keep=far and keep=near: part of the range of angles that stays unmerged</source>
        <translation>夹角范围中不合并的部分（按远端或近端保留时）</translation>
    </message>
    <message>
        <source>from</source>
        <translation>起始</translation>
    </message>
    <message>
        <source>Share of the layers, counted from the lowest, that are not merged</source>
        <translation>保持原样的最低几层所占的比例</translation>
    </message>
    <message>
        <source>t</source>
        <translation>位置</translation>
    </message>
    <message>
        <source>Only the first of several adjacent layers stores keys and values; the other layers read them</source>
        <translation>几个相邻层中只有第一层存放键和值，其余各层读取它</translation>
    </message>
    <message>
        <source>span</source>
        <translation>跨度</translation>
    </message>
    <message>
        <source>Number of adjacent layers that share keys and values</source>
        <translation>共用键和值的相邻层数</translation>
    </message>
    <message>
        <source>Spreads the value of an evicted token over the values of the kept tokens after it</source>
        <translation>策略丢弃的 token 的值分摊到其后保留的 token 的值上</translation>
    </message>
    <message>
        <source>spread</source>
        <translation>分摊</translation>
    </message>
    <message>
        <source>Number of kept tokens after an evicted one that take over a part of its value</source>
        <translation>被丢弃 token 之后分摊其值的保留 token 数</translation>
    </message>
    <message>
        <source>Attention of a token: the sum of all weights that it received, or the weight in the newest row</source>
        <translation>token 的注意力是它得到的总和，或最新查询给它的</translation>
    </message>
    <message>
        <source>merge</source>
        <translation>合并</translation>
    </message>
    <message>
        <source>How much of an evicted value is merged: all of it, with the probability attention / mean attention of the receiving tokens (random), or always that share of it (mean)</source>
        <translation>值按概率合并（其注意力除以接收者的平均），或总是合并这一比例</translation>
    </message>
    <message>
        <source>Of the chance</source>
        <translation>概率的种子</translation>
    </message>
    <message>
        <source>Merges each evicted token into the kept token with the most similar key</source>
        <translation>策略丢弃的 token 合并到键与它最相似的保留 token</translation>
    </message>
    <message>
        <source>rule</source>
        <translation>规则</translation>
    </message>
    <message>
        <source>How an evicted token is merged. d2o: weighted by its cosine similarity, if that is at least the threshold. weighted: weighted mean. pivot: half of a mean with its target. values: values only, by cosine and norm</source>
        <translation>合并 token 的权重：余弦不低于常值时取余弦；加权平均；与目标各半；或只合并值，按余弦和长度</translation>
    </message>
    <message>
        <source>smoothing</source>
        <translation>平滑</translation>
    </message>
    <message>
        <source>rule=d2o: weight of the old threshold in the new one</source>
        <translation>新阈值中旧阈值的比例（余弦规则时）</translation>
    </message>
    <message>
        <source>Coordinates in low-rank bases of the projection weights, shared by groups of heads</source>
        <translation>token 在权重的基中的坐标，由一组头共用</translation>
    </message>
    <message>
        <source>Coordinates in low-rank bases of the projection weights, one for the keys and one for the values of a layer</source>
        <translation>token 在权重的基中的坐标，每层键一组基，值一组基</translation>
    </message>
    <message>
        <source>Side file, computed from the model&apos;s weights or by calibration</source>
        <translation>模型权重或校准的附属文件</translation>
    </message>
    <message>
        <source>Rank of the keys of a group of heads; a side file has its own ranks</source>
        <translation>一组头的键的坐标数；附属文件有自己的数</translation>
    </message>
    <message>
        <source>Rank of the values of a group of heads; a side file has its own ranks</source>
        <translation>一组头的值的坐标数；附属文件有自己的数</translation>
    </message>
    <message>
        <source>KV heads with projections that are factorised together</source>
        <translation>投影一起截断的键值头数</translation>
    </message>
    <message>
        <source>The cache of a model with fewer or smaller layers; the effect on answers is unknown</source>
        <translation>层数更少或更窄的另一模型的缓存；对回答的影响未知</translation>
    </message>
    <message>
        <source>model layers</source>
        <translation>模型层数</translation>
    </message>
    <message>
        <source>Layers of the smaller model</source>
        <translation>较小模型的层数</translation>
    </message>
    <message>
        <source>heads</source>
        <translation>头数</translation>
    </message>
    <message>
        <source>KV heads per layer of the smaller model, on one rank; 0: the same as this model</source>
        <translation>其每层的 KV 头数，按一个进程计；0：与本模型相同</translation>
    </message>
    <message>
        <source>size</source>
        <translation>大小</translation>
    </message>
    <message>
        <source>Channels of keys and of values of the smaller model; 0: the same as this model</source>
        <translation>其键和值的通道数；0：与本模型相同</translation>
    </message>
    <message>
        <source>Sparse attention: which part of a full cache decode steps read; full reads all of it</source>
        <translation>缓存全部保留时，解码步从中读取哪些；默认读取全部</translation>
    </message>
    <message>
        <source>reader</source>
        <translation>读取方式</translation>
    </message>
    <message>
        <source>Reads everything</source>
        <translation>读取全部</translation>
    </message>
    <message>
        <source>Reads the pages with the largest upper bound of the query-key product, from the minimum and maximum of each key channel</source>
        <translation>按每个通道的最小值和最大值，读取其键与查询的内积可能最大的那些页</translation>
    </message>
    <message>
        <source>Tokens in the pages that each query head reads; pages are read whole</source>
        <translation>每个查询头所读各页的 token 数；按整页读取</translation>
    </message>
    <message>
        <source>page</source>
        <translation>页</translation>
    </message>
    <message>
        <source>Tokens per page</source>
        <translation>一页的 token 数</translation>
    </message>
    <message>
        <source>evaluation: at least three pages, and the newest page competes with the others. kernels: the newest page is always read, within the budget</source>
        <translation>评测形式：至少三页，没有哪一页必读；内核形式：最新一页必读，计入预算</translation>
    </message>
    <message>
        <source>Whether the query heads of a KV head rank separately (none), or rank by the mean or largest of their scores and then read the same tokens</source>
        <translation>同一存储头的各查询头各自排序，或按得分的平均值或最大值共同排序，从而读取相同的 token</translation>
    </message>
    <message>
        <source>dense layers</source>
        <translation>全读层数</translation>
    </message>
    <message>
        <source>First layers of the model, which read everything</source>
        <translation>模型开头读取全部的若干层</translation>
    </message>
    <message>
        <source>Speculates logits from a part of the channels, and reads the tokens with logits close to the largest</source>
        <translation>按部分通道估计，读取得分最大的 token，数目为接近最大值者</translation>
    </message>
    <message>
        <source>A token is fetched if its speculated logit is within this distance of the largest</source>
        <translation>估计得分比最大值低不到此数的 token 算作需要</translation>
    </message>
    <message>
        <source>fetch</source>
        <translation>取回份额</translation>
    </message>
    <message>
        <source>Share of the earlier tokens that each query head fetches at most</source>
        <translation>每个查询头至多取回先前 token 的这一份额</translation>
    </message>
    <message>
        <source>Maximum number of earlier tokens that each query head fetches; 0: as given by fetch</source>
        <translation>每个查询头至多取回的先前 token 数；0：按取回份额</translation>
    </message>
    <message>
        <source>partial</source>
        <translation>部分通道</translation>
    </message>
    <message>
        <source>Share of each head&apos;s channels that speculation uses</source>
        <translation>每个头用于估计的通道份额</translation>
    </message>
    <message>
        <source>skew</source>
        <translation>旋转</translation>
    </message>
    <message>
        <source>First rotate queries and keys into the singular vectors of the prompt&apos;s queries</source>
        <translation>先把查询和键旋转到提示中查询的奇异向量上</translation>
    </message>
    <message>
        <source>maximum</source>
        <translation>最大值</translation>
    </message>
    <message>
        <source>The reference is the largest logit of each query head (own), or that of the first head for all (first)</source>
        <translation>每个查询头各取自己的最大得分，或全部取第一个头的</translation>
    </message>
    <message>
        <source>Reads first tokens, generated tokens, and the key clusters with the centres that have the largest product with the query (the last cluster partly)</source>
        <translation>读取中心与查询内积最大的键簇（最后一簇只读一部分），以及开头的和生成的 token</translation>
    </message>
    <message>
        <source>Prompt tokens that each query head reads, including the first ones; later tokens are read in addition</source>
        <translation>每个查询头所读的提示 token 数，含开头的；之后的另计</translation>
    </message>
    <message>
        <source>First tokens, always read</source>
        <translation>总是读取的开头 token</translation>
    </message>
    <message>
        <source>Clusters of the prompt&apos;s keys per KV head; 0: one for each 80 prompt tokens</source>
        <translation>一个存储头的提示键的簇数；0：提示每 80 个 token 一簇</translation>
    </message>
    <message>
        <source>Generated tokens are clustered in windows of this size; an incomplete window is always read; 0: all generated tokens are read</source>
        <translation>生成的 token 每这么多个聚一次类，未满窗口中的总是读取；0：生成的 token 全部读取</translation>
    </message>
    <message>
        <source>window clusters</source>
        <translation>窗口簇数</translation>
    </message>
    <message>
        <source>Clusters per window of generated tokens</source>
        <translation>一个生成 token 窗口的簇数</translation>
    </message>
    <message>
        <source>Reads the best key clusters, first and recent tokens; the next-best clusters are estimated from their centres, sizes and sums of values</source>
        <translation>读取最好的键簇、开头和最近的 token；其次的簇以中心、大小和值的总和参与</translation>
    </message>
    <message>
        <source>retrieve</source>
        <translation>读取簇数</translation>
    </message>
    <message>
        <source>Share of the clusters that are read, at least one cluster</source>
        <translation>读取的簇数；至少一个</translation>
    </message>
    <message>
        <source>estimate</source>
        <translation>估计簇数</translation>
    </message>
    <message>
        <source>Share of the clusters, the next best ones, that are estimated</source>
        <translation>其后以估计参与的簇数</translation>
    </message>
    <message>
        <source>Tokens to read: as many clusters as hold this number on average; 0: as many as retrieve says</source>
        <translation>所读各簇平均共有的 token 数；0：按读取簇数</translation>
    </message>
    <message>
        <source>cluster tokens</source>
        <translation>每簇 token 数</translation>
    </message>
    <message>
        <source>Tokens per cluster</source>
        <translation>每这么多 token 一簇</translation>
    </message>
    <message>
        <source>Last tokens of the prompt, always read, together with the tokens after them</source>
        <translation>提示末尾总是读取的 token，其后的也总是读取</translation>
    </message>
    <message>
        <source>Number of tokens beyond recent that are always read, until they are clustered together</source>
        <translation>超出最近部分、在满这么多个聚类之前总是读取的 token</translation>
    </message>
    <message>
        <source>Heads with high gates read everything; the other heads read first and newest tokens; nothing is evicted</source>
        <translation>门值高的头读取全部，其余的读取开头和最新的 token；不丢弃任何内容</translation>
    </message>
    <message>
        <source>Gate or score of each KV head: a JSON file with one list per layer, or the lists themselves</source>
        <translation>每个存储头的门值或得分：每层一个列表的 JSON 文件，或列表本身</translation>
    </message>
    <message>
        <source>Share of all heads in the model that read only first and newest tokens (streaming heads)</source>
        <translation>模型所有头中只读开头和最新 token 的份额</translation>
    </message>
    <message>
        <source>First tokens that streaming heads read</source>
        <translation>这些头读取的开头 token</translation>
    </message>
    <message>
        <source>Newest tokens that streaming heads read</source>
        <translation>这些头读取的最新 token</translation>
    </message>
    <message>
        <source>Reads the tokens with the query&apos;s largest weights: no set of the same size holds more attention mass</source>
        <translation>读取查询给予最大权重的 token：同样大小的集合中质量最大</translation>
    </message>
    <message>
        <source>Tokens that each query head reads</source>
        <translation>每个查询头读取的 token 数</translation>
    </message>
</context>
</TS>
