module slipway-endless

go 1.19
