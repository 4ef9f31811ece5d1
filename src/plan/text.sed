# SPDX-License-Identifier: Apache-2.0
# text.sed - a shell text as lines of C, each line a literal: without its head (the first lines up to an empty one), without
# notes for shellcheck and without empty lines. Comments stay, since users read the scripts.
1,/^$/d
/^ *# shellcheck /d
/^$/d
s/[\"]/\\&/g
s/.*/    "&\\n",/
