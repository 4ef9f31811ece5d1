module slipway-faults

go 1.19
