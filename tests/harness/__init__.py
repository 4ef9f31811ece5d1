# SPDX-License-Identifier: Apache-2.0
"""What tests in Python share: a client of slipway, one way to wait, one way to write and run claims."""
