//! The standard normal distribution.

/// Share of the standard normal distribution below `x`.
pub fn below(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// Its density at `x`.
pub(super) fn density(x: f64) -> f64 {
    libm::exp(-0.5 * x * x) / libm::sqrt(2.0 * std::f64::consts::PI)
}

/// The hazard `density / (1 - below)`, which grows like `x` where both vanish.
pub fn hazard(x: f64) -> f64 {
    // Beyond this the tail soon is no normal number any more; the next term of the expansion is 3e-11 of the value.
    if x > 35.0 {
        let inverse = 1.0 / x;
        let square = inverse * inverse;
        x + inverse * (1.0 - square * (2.0 - 10.0 * square))
    } else {
        density(x) / below(-x)
    }
}

/// Quantile of the standard normal distribution: Wichura, algorithm AS 241 (Applied Statistics 37, 1988), PPND16,
/// accurate to about 1 part in 10^16. Infinite at 0 and 1.
pub fn quantile(u: f64) -> f64 {
    #[expect(clippy::excessive_precision, reason = "as published")]
    const A: [f64; 8] = [
        3.387_132_872_796_366_608_0,
        133.141_667_891_784_377_45,
        1_971.590_950_306_551_442_7,
        13_731.693_765_509_461_125,
        45_921.953_931_549_871_457,
        67_265.770_927_008_700_853,
        33_430.575_583_588_128_105,
        2_509.080_928_730_122_672_7,
    ];
    #[expect(clippy::excessive_precision, reason = "as published")]
    const B: [f64; 8] = [
        1.0,
        42.313_330_701_600_911_252,
        687.187_007_492_057_908_3,
        5_394.196_021_424_751_107_7,
        21_213.794_301_586_595_867,
        39_307.895_800_092_710_61,
        28_729.085_735_721_942_674,
        5_226.495_278_852_854_561,
    ];
    #[expect(clippy::excessive_precision, reason = "as published")]
    const C: [f64; 8] = [
        1.423_437_110_749_683_577_34,
        4.630_337_846_156_545_295_9,
        5.769_497_221_460_691_405_5,
        3.647_848_324_763_204_605_04,
        1.270_458_252_452_368_382_58,
        2.417_807_251_774_506_117_7e-1,
        2.272_384_498_926_918_458_33e-2,
        7.745_450_142_783_414_076_4e-4,
    ];
    #[expect(clippy::excessive_precision, reason = "as published")]
    const D: [f64; 8] = [
        1.0,
        2.053_191_626_637_758_821_87,
        1.676_384_830_183_803_849_4,
        6.897_673_349_851_000_045_5e-1,
        1.481_039_764_274_800_745_9e-1,
        1.519_866_656_361_645_719_66e-2,
        5.475_938_084_995_344_946e-4,
        1.050_750_071_644_416_843_24e-9,
    ];
    #[expect(clippy::excessive_precision, reason = "as published")]
    const E: [f64; 8] = [
        6.657_904_643_501_103_777_2,
        5.463_784_911_164_114_369_9,
        1.784_826_539_917_291_335_8,
        2.965_605_718_285_048_912_3e-1,
        2.653_218_952_657_612_309_3e-2,
        1.242_660_947_388_078_438_6e-3,
        2.711_555_568_743_487_578_15e-5,
        2.010_334_399_292_288_132_65e-7,
    ];
    #[expect(clippy::excessive_precision, reason = "as published")]
    const F: [f64; 8] = [
        1.0,
        5.998_322_065_558_879_376_9e-1,
        1.369_298_809_227_358_053_1e-1,
        1.487_536_129_085_061_485_25e-2,
        7.868_691_311_456_132_591e-4,
        1.846_318_317_510_054_681_8e-5,
        1.421_511_758_316_445_888_7e-7,
        2.044_263_103_389_939_785_64e-15,
    ];
    let ratio = |above: &[f64; 8], below: &[f64; 8], x: f64| {
        let polynomial = |terms: &[f64; 8]| terms.iter().rev().fold(0.0, |sum, term| sum * x + term);
        polynomial(above) / polynomial(below)
    };
    let q = u - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(&A, &B, 0.180_625 - q * q);
    }
    let tail = if q < 0.0 { u } else { 1.0 - u };
    if tail <= 0.0 {
        return f64::INFINITY.copysign(q);
    }
    let r = libm::sqrt(-libm::log(tail));
    let size = if r <= 5.0 { ratio(&C, &D, r - 1.6) } else { ratio(&E, &F, r - 5.0) };
    size.copysign(q)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known quantiles.
    #[test]
    fn quantiles_and_shares() {
        for (u, z) in [
            (0.5, 0.0),
            (0.75, 0.674_489_750_196_081_7),
            (0.841_344_746_068_542_9, 1.0),
            (0.9, 1.281_551_565_544_600_4),
            (0.975, 1.959_963_984_540_054),
            (0.999, 3.090_232_306_167_813_5),
            (1e-10, -6.361_340_902_404_056),
            (1e-20, -9.262_340_089_798_407),
        ] {
            let found = quantile(u);
            assert!((found - z).abs() <= 1e-9 * z.abs().max(1e-3), "{found}, not {z}");
            assert!((below(z) / u - 1.0).abs() < 1e-9, "{u}");
        }
        assert_eq!((quantile(0.0), quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
    }

    #[test]
    fn the_hazard_has_no_seam() {
        assert!((hazard(0.0) - 0.797_884_560_802_865_4).abs() < 1e-15);
        let (left, right) = (hazard(35.0), hazard(35.000_000_001));
        assert!((right / left - 1.0).abs() < 2e-10, "{left}, {right}");
        assert!(hazard(-40.0) >= 0.0);
    }
}
