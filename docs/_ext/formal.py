"""
Laws as formulas
================

The one place where a sentence of the op table is written as a formula. The key is the sentence itself, so that a
sentence that changes takes its formula with it: `inference.problems` names a formula whose sentence no op says any
more, and a sentence without a formula stands in the rules as it is.

In a formula, what stands between backticks is a word; ``<0>`` is the name of the first source; ``<all:s_>`` says that
all sources agree in a property, ``<join:\\delta_>`` is what they agree on where null agrees with everything.
"""

from __future__ import annotations

NOTATION: tuple[tuple[str, str], ...] = (
    (
        r"\vdash x \,:\, \tau[s]",
        "x is a well-formed node with dtype τ and shape s; a node without a value is void",
    ),
    (
        r"\tau_x \quad s_x \quad \delta_x \quad \alpha_x",
        "the dtype, shape, device and shard axis of x; without a subscript, of the node that the rule makes",
    ),
    (
        r"`mm`(x) = [\ell_x, u_x]",
        "the interval of x; for floats with a flag that says whether NaN is possible (U-43)",
    ),
    (r"`rank`(s) \quad s[k] \quad s[-1]", "the number of axes of a shape, its size on axis k, its last size"),
    (r"x_j \quad 0 \le j < m", "the sources of a repeated position; there are m of them"),
    (r"x \equiv `Op`(\dots)", "x is a node of this op"),
    (
        r"`sizes`(x) \quad `indices`(x)",
        "x is a Stack of index scalars, each ≥ 0; of any index scalars (U-22)",
    ),
    (r"n_\delta", "the number of devices of δ"),
    (
        r"\delta_x \sqcup \delta_y",
        "the device on which both agree: null agrees with everything, and a disagreement is ill-formed (U-29)",
    ),
    (
        r"`fit`_\tau [l, u]",
        "[l, u] where it lies in the range of τ, else the range; on floats its ends are rounded (U-40)",
    ),
    (r"\top_\tau", "the range of a dtype: [least, greatest], on floats with NaN"),
    (r"`hull`(I, J)", "the least interval that contains both"),
    (r"w(\tau)", "the bytes of one element"),
    (r"`free`(x)", "the loop indices that x depends on and that nothing below x closes"),
    (r"`closed`(x)", "x has no free loop index, no Buffer and no Store"),
    (r"`place`(x)", "x is a Buffer, or a Param without bounds, under movement ops and After"),
    (r"x\sigma", "x with the arguments in place of the Params p of the body"),
    (
        r"`Fixed` \quad `Whole` \quad `Float` \quad `Wide` \quad `Num`",
        "integers of fixed width; these and index; floats; the floats of 16 bits and more; Whole and Float",
    ),
)

CONSTRAINTS: dict[str, str] = {
    # source ops
    "the slot is an int ≥ 0": r"`slot` \in \mathbb{N}",
    "s is a Stack of index scalars, each ≥ 0": r"`sizes`(s)",
    "bounds, if given, are two values of the dtype with lo ≤ hi": (
        r"`bounds` = (l, h) \;\Rightarrow\; l, h \in \tau,\; l \le h"
    ),
    "axis, if given, is an axis of s that the number of devices divides; on one device there is none": (
        r"`axis` = k \;\Rightarrow\; k < `rank`(s),\; n_\delta \mid s[k],\; \delta ` is not one device`"
    ),
    "size is an int ≥ 0": r"`size` \in \mathbb{N}",
    "the dtype can be stored: it is neither index nor void": r"`dtype` \notin \{`index`, `void`\}",
    "the value is a value of the dtype": r"`value` \in `dtype`",
    # movement ops
    "π is a permutation of 0 … rank-1": r"\{\pi[0], \dots, \pi[`rank`(s_T)-1]\} = \{0, \dots, `rank`(s_T)-1\}",
    "f has one bool per axis": r"f \in \{`False`, `True`\}^{`rank`(s_T)}",
    "the shard axis of a multi-device value is not flipped": r"\alpha_T = k \;\Rightarrow\; \lnot f[k]",
    "s' is a Stack of index scalars, each ≥ 0": r"`sizes`(s')",
    "∏ s'[k] = ∏ s[k]": r"\prod_k s'[k] = \prod_k s_T[k]",
    "a shard boundary survives: some new axis starts at the same place and n divides it": (
        r"\alpha_T = k \;\Rightarrow\; \exists k'.\; \prod_{j<k'} s'[j] = \prod_{j<k} s_T[j],\; n_\delta \mid s'[k']"
    ),
    "s' has the rank of T": r"`rank`(s') = `rank`(s_T)",
    "each s[k] is 1 or s'[k]": r"s_T[k] \in \{1, s'[k]\}",
    "o and s' are Stacks of index scalars of the rank of T": (
        r"`indices`(o),\; `indices`(s'),\; `rank`(o) = `rank`(s') = `rank`(s_T)"
    ),
    "0 ≤ o[k] and o[k] + s[k] ≤ s'[k]": r"0 \le o[k],\quad o[k] + s_T[k] \le s'[k]",
    "the shard axis of a multi-device value keeps its size": r"\alpha_T = k \;\Rightarrow\; s'[k] = s_T[k]",
    "0 ≤ o[k], 0 ≤ s'[k] and o[k] + s'[k] ≤ s[k]": r"0 \le o[k],\quad 0 \le s'[k],\quad o[k] + s'[k] \le s_T[k]",
    "there are at most rank indices": r"m \le `rank`(s_T)",
    "each index has dtype index and shape () or (k,)": r"\tau_{i_j} = `index`,\quad `rank`(s_{i_j}) \le 1",
    "the shard axis of a multi-device value is not indexed": r"\alpha_T = k \;\Rightarrow\; m \le k",
    "all sources have one shape": r"<all:s_>",
    "all sources have one dtype": r"<all:\tau_>",
    "axes are distinct axes of T": r"`axes` \subseteq \{0, \dots, `rank`(s_T)-1\}",
    "no axis has the constant size 0": r"k \in `axes` \;\Rightarrow\; s_T[k] \ne 0",
    "T has rank 1 and a stored dtype": r"`rank`(s_T) = 1,\quad \tau_T \notin \{`index`, `void`\}",
    "offset is an index scalar": r"\tau_{`offset`} = `index`,\quad s_{`offset`} = ()",
    "the dtype is stored and is not bool, unless it is that of T": (
        r"`dtype` = \tau_T \;\vee\; `dtype` \in `Fixed` \cup `Float`"
    ),
    "offset is byte-aligned to dtype, and where it is constant the slice lies inside T": (
        r"w(`dtype`) \mid `offset` \cdot w(\tau_T),\quad "
        r"0 \le `offset`,\quad `offset` \cdot w(\tau_T) + `size` \cdot w(`dtype`) \le s_T[0] \cdot w(\tau_T)"
    ),
    "a multi-device value with a shard axis is sliced whole, into a size that n divides": (
        r"\alpha_T \ne `null` \;\Rightarrow\; `offset` = 0,\; `size` \cdot w(`dtype`) = s_T[0] \cdot w(\tau_T),\; "
        r"n_\delta \mid `size`"
    ),
    "both dtypes are integers of fixed width or floats": r"\tau_T, `dtype` \in `Fixed` \cup `Float`",
    "the item sizes are equal, or T has a last axis whose bytes the new item size divides": (
        r"w(`dtype`) = w(\tau_T) \;\vee\; w(`dtype`) \mid s_T[-1] \cdot w(\tau_T)"
    ),
    "where the last axis is the shard axis, so do the bytes of each of its n parts": (
        r"\alpha_T = `rank`(s_T)-1 \;\Rightarrow\; w(`dtype`) \mid s_T[-1] / n_\delta \cdot w(\tau_T)"
    ),
    # reduce
    "op is Add, Max or Mul": r"`op` \in \{`Add`, `Max`, `Mul`\}",
    "axes are distinct axes of T; with ranges they are empty": (
        r"`axes` \subseteq \{0, \dots, `rank`(s_T)-1\},\quad m > 0 \;\Rightarrow\; `axes` = \varnothing"
    ),
    "each r is a Range": r"r_j \equiv `Range`(\dots)",
    "Add is not on bool": r"`op` = `Add` \;\Rightarrow\; \tau_T \ne `bool`",
    # calls
    "the body is a Tuple": r"`body` \equiv `Tuple`(\dots)",
    "the body is closed: no free Range, no Buffer, no Store": r"`closed`(`body`)",
    "the slots of the Params outside nested Functions are among 0 … number of arguments-1": (
        r"`slots`(`body`) \subseteq \{0, \dots, m-1\}"
    ),
    "each argument has the dtype and shape of its Param, agrees with its device and axis, and is in its bounds": (
        r"\tau_{a_k} = \tau_{p_k},\; s_{a_k} = s_{p_k}\sigma,\; `mm`(a_k) \subseteq `mm`(p_k),\; "
        r"\delta_{a_k} ` and ` \delta_{p_k} ` agree`,\; \alpha_{a_k} ` and ` \alpha_{p_k} ` agree`"
    ),
    "the body is a Tuple, a Program or a CustomFunction": r"`body` \equiv `Tuple, Program or CustomFunction`(\dots)",
    "each argument has the dtype and shape of its Param": r"\tau_{a_k} = \tau_{p_k},\; s_{a_k} = s_{p_k}\sigma",
    "a Tuple as body is closed: no free Range, no Buffer, no Store": (
        r"`body` \equiv `Tuple`(\dots) \;\Rightarrow\; `closed`(`body`)"
    ),
    "T is a Tuple, a Function or a Call with known elements": r"`elements`(T) = (v_0, \dots, v_{m-1})",
    "idx is one of its positions": r"0 \le `idx` < m",
    # memory and order
    "alt and gate come together": r"`alt is given` \;\Leftrightarrow\; `gate is given`",
    "alt has the dtype and shape of buf": r"\tau_{`alt`} = \tau_{`buf`},\quad s_{`alt`} = s_{`buf`}",
    "gate is bool, a scalar or of the shape of buf": r"\tau_{`gate`} = `bool`,\quad s_{`gate`} \in \{(), s_{`buf`}\}",
    "n divides axis 0 on an n-tuple device": r"`device is a tuple` \;\Rightarrow\; n_\delta \mid s_{`buf`}[0]",
    "buf is a place: a Buffer, or a Param without bounds, under movement ops and After": r"`place`(`buf`)",
    "idx is a place: a Buffer, or a Param without bounds, under movement ops and After": r"`place`(`idx`)",
    "val has the shape of buf": r"s_{`val`} = s_{`buf`}",
    "val has the dtype of buf": r"\tau_{`val`} = \tau_{`buf`}",
    "val has the shape of idx": r"s_{`val`} = s_{`idx`}",
    "val has the dtype of idx": r"\tau_{`val`} = \tau_{`idx`}",
    "bound is an index scalar": r"\tau_{`bound`} = `index`,\quad s_{`bound`} = ()",
    "bound is ≥ 0": r"0 \le `bound`",
    "range is a Range": r"`range` \equiv `Range`(\dots)",
    "no Range is free: an End or a Reduce closes each": r"\bigcup_j `free`(s_j) = \varnothing",
    # dtypes of elementwise ops
    "both operands have one dtype": r"<all:\tau_>",
    "the dtype is a number: an integer, index or float": r"\tau_{<0>} \in `Num`",
    "the dtype is bool, an integer, index or float": r"\tau_{<0>} \in `Num` \cup \{`bool`\}",
    "the dtype is an integer or index": r"\tau_{<0>} \in `Whole`",
    "the dtype is a float": r"\tau_{<0>} \in `Float`",
    "the dtype is bool or an integer of fixed width": r"\tau_{<0>} \in `Fixed` \cup \{`bool`\}",
    "the dtype is an integer, or index with a constant count ≥ 0": (
        r"\tau_a \in `Fixed` \;\vee\; \tau_a = `index`,\; b \equiv `Const`(\dots),\; 0 \le b"
    ),
    "the dtype is float16, bfloat16, float32 or float64": r"\tau_{<0>} \in `Wide`",
    "the dtype is bool": r"\tau_{<0>} = `bool`",
    "the dtype is uint64": r"\tau_{<0>} = `uint64`",
    "the dtype is a number": r"\tau_{<0>} \in `Num`",
    "the target is a value dtype": r"`dtype` \ne `void`",
    "index converts only from and to integers and bool": (
        r"`index` \in \{\tau_x, `dtype`\} \;\Rightarrow\; \{\tau_x, `dtype`\} \subseteq `Whole` \cup \{`bool`\}"
    ),
    "p is bool": r"\tau_p = `bool`",
    "a and b have one dtype": r"\tau_a = \tau_b",
    # codegen ops
    "gate is a bool scalar": r"\tau_{`gate`} = `bool`,\quad s_{`gate`} = ()",
    "src[0] is an If": r"`if` \equiv `If`(\dots)",
    "A and B have the input dtype": r"\tau_A = \tau_B = `input`",
    "acc has the accumulator dtype": r"\tau_{`acc`} = `accumulator`",
    "the sources are a Linear, a Source and a Binary (machine code)": (
        r"`linear` \equiv `Linear`(\dots),\; `source` \equiv `Source`(\dots),\; `binary` \equiv `BinaryCode`(\dots)"
    ),
    "data is bytes": r"`data` \in `bytes`",
    "arg is bytes": r"`arg` \in `bytes`",
    "arg is a str": r"`arg` \in `str`",
    "name is a str": r"`name` \in `str`",
    "fmt is a str": r"`fmt` \in `str`",
}

_ROUNDED = "; float ends round to nearest, and one that becomes NaN leaves the dtype range"
_ELEMENT = "of the element, with the arguments substituted"
_AGREED = "the one non-null {} that all sources agree on (U-29)"

PROPERTIES: dict[str, dict[str, str]] = {
    "dtype": {
        "from arg": r"\tau = `dtype`",
        "uint8": r"\tau = `uint8`",
        "bool": r"\tau = `bool`",
        "index": r"\tau = `index`",
        "void": r"\tau = `void`",
        "src[0].dtype": r"\tau = \tau_{<0>}",
        "src[1].dtype": r"\tau = \tau_{<1>}",
        "src[2].dtype": r"\tau = \tau_{<2>}",
        "src[0].dtype; index for the empty Stack": (
            r"\tau = \begin{cases} \tau_{T_0} & m > 0 \\ `index` & m = 0 \end{cases}"
        ),
        "of the element": r"\tau = \tau_{v_{`idx`}}",
    },
    "shape": {
        "from src[0]": r"s = `the scalars of the source `s",
        "(n·size,) on an n-tuple device, else (size,)": r"s = (n_\delta \cdot `size`)",
        "()": r"s = ()",
        "(len(data),)": r"s = (`len`(`data`))",
        "(len(bytes),)": r"s = (`len`(`arg`))",
        "s'[k] = s[π[k]]": r"s[k] = s_T[\pi[k]]",
        "src[0].shape": r"s = s_{<0>}",
        "src[2].shape": r"s = s_{<2>}",
        "s'": r"s = s'",
        "the shapes of the indices, then the axes that were not indexed": (
            r"s = s_{i_0} \cdots s_{i_{m-1}} \cdot s_T[m \dots]"
        ),
        "(number of sources, *src[0].shape); (0,) for the empty Stack": (
            r"s = \begin{cases} (m) \cdot s_{T_0} & m > 0 \\ (0) & m = 0 \end{cases}"
        ),
        "s with 1 on axes": r"s[k] = \begin{cases} 1 & k \in `axes` \\ s_T[k] & `else` \end{cases}",
        "(size,)": r"s = (`size`)",
        "s with the last axis scaled": (
            r"s[k] = s_T[k] `  for  ` k < `rank`(s_T)-1,\quad s[-1] \cdot w(\tau) = s_T[-1] \cdot w(\tau_T)"
        ),
        "none": r"s = `none`",
        "the shape that all sources share": r"s = s_{<0>}",
        _ELEMENT: r"s = s_{v_{`idx`}}\sigma",
    },
    "device": {
        "from arg": r"\delta = `device`",
        "null": r"\delta = `null`",
        "src[0].device": r"\delta = \delta_{<0>}",
        _AGREED.format("device"): r"\delta = <join:\delta_>",
        "the device that all sources share, else null": r"\delta = `the one device of the sources, else null`",
        "from arg, else " + _AGREED.format("device"): (
            r"\delta = \begin{cases} `device` & `if given` \\ <join:\delta_> & `else` \end{cases}"
        ),
        "src[0].device; the other sources are there too": r"\delta = \delta_{<0>} = <join:\delta_>",
        _ELEMENT: r"\delta = \delta_{v_{`idx`}}\sigma",
    },
    "min_max": {
        "bounds from arg, else dtype range": (
            r"`mm` = \begin{cases} `bounds` & `if given` \\ \top_\tau & `else` \end{cases}"
        ),
        "dtype range": r"`mm` = \top_\tau",
        "[v, v]; dtype range of NaN": (
            r"`mm` = \begin{cases} \top_\tau & `value is NaN` \\ [`value`, `value`] & `else` \end{cases}"
        ),
        "src[0]": r"`mm` = `mm`(<0>)",
        "hull of src[0] with 0": r"`mm` = `hull`(`mm`(<0>), [0, 0])",
        "hull of all sources": r"`mm` = `hull`_j\, `mm`(<0>_j)",
        "dtype range; bounds of src[0] for Max where something is reduced": (
            r"`mm` = \begin{cases} `mm`(T) & `op` = `Max`,\; 0 < `the number of elements reduced` \\"
            r" \top_\tau & `else` \end{cases}"
        ),
        "none": r"`mm` = `none`",
        "of the element of a Tuple; dtype range of a Function or Call": (
            r"`mm` = \begin{cases} `mm`(v_{`idx`}) & T \equiv `Tuple`(\dots) \\ \top_\tau & `else` \end{cases}"
        ),
        "[trunc a, trunc A]": r"`mm` = [`trunc`\, \ell_x, `trunc`\, u_x]",
        "the ends, cast as values are, and 0 where a NaN becomes an integer; [x ≠ 0] for bool; dtype range where an "
        "integer does not fit its target" + _ROUNDED: (
            r"`mm` = \begin{cases} `mm`(x \ne 0) & \tau = `bool` \\"
            r" `hull`(`sat`_\tau `trunc` `mm`(x),\; 0 ` if NaN`) & `float to integer` \\"
            r" `fit`_\tau\, `mm`(x) & `else` \end{cases}"
        ),
        "[a+b, A+B] where it fits the dtype, else dtype range" + _ROUNDED: (
            r"`mm` = `fit`_\tau [\ell_a + \ell_b,\; u_a + u_b]"
        ),
        "[min, max] of the products of the ends where it fits the dtype, else dtype range" + _ROUNDED: (
            r"`mm` = `fit`_\tau [\min P, \max P],\quad P = \{\ell_a, u_a\} \cdot \{\ell_b, u_b\}"
        ),
        "[max(a, b), max(A, B)]": r"`mm` = [\max(\ell_a, \ell_b),\; \max(u_a, u_b)]",
        "[0, B-1] for b ≥ 1, [b+1, 0] for B ≤ -1, src[0] where it is already reduced, else dtype range": (
            r"`mm` = \begin{cases} `mm`(a) & `where it is already reduced` \\ [0, u_b - 1] & 1 \le \ell_b \\"
            r" [\ell_b + 1, 0] & u_b \le -1 \\ \top_\tau & `else` \end{cases}"
        ),
        "[min, max] of the floor quotients where b excludes 0 and they fit the dtype, else dtype range": (
            r"`mm` = \begin{cases} `fit`_\tau [\min Q, \max Q] & 0 \notin `mm`(b) \\ \top_\tau & `else` \end{cases},"
            r"\quad Q = \{\ell_a, u_a\} ` div ` \{\ell_b, u_b\}"
        ),
        "[0, min(A, B)] of And on non-negative intervals, exact on constants, else dtype range": (
            r"`mm` = \begin{cases} [v, v] & `both are constants of value ` v \\"
            r" [0, \min(u_a, u_b)] & `And,  ` 0 \le \ell_a, \ell_b \\ \top_\tau & `else` \end{cases}"
        ),
        "hull of src[1] and src[2]": r"`mm` = `hull`(`mm`(<1>), `mm`(<2>))",
        "[-A, -a] where it fits the dtype, else dtype range": r"`mm` = `fit`_\tau [-u_x, -\ell_x]",
        "[a-B, A-b] where it fits the dtype, else dtype range" + _ROUNDED: (
            r"`mm` = `fit`_\tau [\ell_a - u_b,\; u_a - \ell_b]"
        ),
        "[¬A, ¬a]": r"`mm` = [\lnot u_x, \lnot \ell_x]",
        "[0, ∞]": r"`mm` = [0, \infty]",
        "[-1, 1]; NaN where an end is infinite": (
            r"`mm` = [-1, 1],\quad `with NaN where  ` \ell_x = -\infty \;\vee\; u_x = \infty"
        ),
        "from the intervals, where they decide it and NaN is excluded, else [False, True]": (
            r"`mm` = \begin{cases} [v, v] & `mm`(a), `mm`(b) ` exclude NaN and decide ` v \\"
            r" [`False`, `True`] & `else` \end{cases}"
        ),
        "[√a, √A] for a ≥ 0, else [-0, the greatest of the dtype] or NaN": (
            r"`mm` = \begin{cases} [\sqrt{\ell_x}, \sqrt{u_x}] & 0 \le \ell_x \\"
            r" [-0, u_\tau] ` or NaN` & `else` \end{cases}"
        ),
        "of Add(Mul(a, b), c)": r"`mm` = `mm`(`Add`(`Mul`(a, b), c))",
        "hull of src[0] and alt": r"`mm` = `hull`(`mm`(`buf`), `mm`(`alt`))",
        "[0, n-1]": r"`mm` = [0,\; u_{`bound`} - 1]",
    },
    "axis": {
        "from arg": r"\alpha = `axis`",
        "0 on an n-tuple device, else null": (
            r"\alpha = \begin{cases} 0 & \delta ` is a tuple` \\ `null` & `else` \end{cases}"
        ),
        "null": r"\alpha = `null`",
        "none": r"\alpha = `none`",
        "the k with π[k] = src[0].axis": r"\pi[\alpha] = \alpha_T",
        "src[0].axis": r"\alpha = \alpha_{<0>}",
        "the new axis with the same product of sizes before it, and a size that n divides; of several (one device, or "
        "no elements) the first of the same size, else the last": (
            r"\prod_{j<\alpha} s'[j] = \prod_{j<\alpha_T} s_T[j],\; n_\delta \mid s'[\alpha];"
            r"` of several the first with ` s'[\alpha] = s_T[\alpha_T], ` else the last`"
        ),
        "the one non-null axis of the sources, plus 1": r"\alpha = 1 + <join:\alpha_>",
        "null if the shard axis is in axes": (
            r"\alpha = \begin{cases} `null` & \alpha_T \in `axes` \\ \alpha_T & `else` \end{cases}"
        ),
        "null if the shard axis is reduced": (
            r"\alpha = \begin{cases} `null` & \alpha_T \in `axes` \\ \alpha_T & `else` \end{cases}"
        ),
        _AGREED.format("axis"): r"\alpha = <join:\alpha_>",
        "none; what is written has the axis of src[0], or null": (
            r"\alpha = `none`,\quad \alpha_{<1>} \in \{\alpha_{<0>}, `null`\}"
        ),
        _ELEMENT: r"\alpha = \alpha_{v_{`idx`}}\sigma",
        "0 where arg names an n-tuple device, null where it names one device, else the one "
        "non-null axis of the sources": (
            r"\alpha = \begin{cases} 0 & `device is a tuple` \\ `null` & `device is one device` \\"
            r" <join:\alpha_> & `else` \end{cases}"
        ),
    },
}
