# SPDX-License-Identifier: Apache-2.0
# page.sed - a page as one C literal, line by line.
s/[\"]/\\&/g
s/.*/    "&\\n"/
