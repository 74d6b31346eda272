"""An independent fit of L(C) = E + A C^-alpha, to check scaling/ against.

Different in every step from the C++: alpha by golden section, E by golden section inside it, A in
closed form by Newton's method on ln A; intervals by bisection on the same likelihood-ratio rule.
Prints JSON; loss_c.json beside this file is its output.
"""
import json

import numpy as np

# Width, C = 6ND and bits per byte of a small ladder (one value per size), then the held-out size.
C = np.array([1.68e11, 3.57e11, 9.00e11, 1.88e12, 4.26e12])
L = np.array([3.088, 2.808, 2.562, 2.352, 2.218])
HELD_OUT = 1.09e13
T_95 = {1: 12.706204736432095, 2: 4.302652729696142, 3: 3.182446305284263}


def golden(function, low, high, steps=120):
    ratio = (np.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    fa, fb = function(a), function(b)
    for _ in range(steps):
        if fa < fb:
            high, b, fb = b, a, fa
            a = high - ratio * (high - low)
            fa = function(a)
        else:
            low, a, fa = a, b, fb
            b = low + ratio * (high - low)
            fb = function(b)
    return (low + high) / 2


def best_a(alpha, e, c, loss):
    """ln A that minimises the sum of squares of ln(E + A c^-alpha) - ln L."""
    x = np.exp(-alpha * (np.log(c) - np.log(C).mean()))
    ln_a = np.log(np.maximum((loss - e) / x, 1e-6).mean())
    for _ in range(7):
        term = np.exp(ln_a) * x
        share = term / (e + term)
        r = np.log(e + term) - np.log(loss)
        ln_a -= np.sum(r * share) / np.sum(share * share)
    r = np.log(e + np.exp(ln_a) * x) - np.log(loss)
    return ln_a, float(r @ r)


def rss_alpha_e(alpha, e, c, loss):
    return best_a(alpha, e, c, loss)[1]


def fit(c, loss, e=None):
    def over_e(alpha):
        if e is not None:
            return e
        return golden(lambda t: rss_alpha_e(alpha, t, c, loss), 0.0, loss.min() * 0.999, 42)

    alpha = golden(lambda a: rss_alpha_e(a, over_e(a), c, loss), 0.02, 1.0, 42)
    offset = over_e(alpha)
    ln_a, rss = best_a(alpha, offset, c, loss)
    a = np.exp(ln_a + alpha * np.log(C).mean())
    return {"E": offset, "A": float(a), "alpha": alpha, "rss": rss}


def bisect(function, inside, outside, steps=26):
    for _ in range(steps):
        middle = (inside + outside) / 2
        if function(middle) < 0:
            inside = middle
        else:
            outside = middle
    return (inside + outside) / 2


best = fit(C, L)
dof = len(C) - 3
allowed = T_95[dof] ** 2 * best["rss"] / dof
predicted = best["E"] + best["A"] * HELD_OUT ** -best["alpha"]


def rise_of_e(e):
    return fit(C, L, e=e)["rss"] - best["rss"] - allowed


def rise_of_forecast(loss):
    return fit(np.append(C, HELD_OUT), np.append(L, loss))["rss"] - best["rss"] - allowed


power = fit(C, L, e=0.0)
result = {
    "flops": list(C), "loss": list(L), "held_out_flops": HELD_OUT,
    "loss_c": best,
    "predicted": predicted,
    "e_high": bisect(rise_of_e, best["E"], L.min() * 0.999),
    "e_reaches_zero": bool(rise_of_e(0.0) <= 0),
    "forecast_low": bisect(rise_of_forecast, predicted, predicted * 0.7),
    "forecast_high": bisect(rise_of_forecast, predicted, predicted * 1.3),
    "power_c": power,
    "power_predicted": power["A"] * HELD_OUT ** -power["alpha"],
}
print(json.dumps(result, indent=2))
