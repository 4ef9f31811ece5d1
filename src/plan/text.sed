# SPDX-License-Identifier: Apache-2.0
# text.sed - a shell text as lines of C: no comments, no empty lines, each line a literal.
/^ *#/d
/^$/d
s/[\"]/\\&/g
s/.*/    "&\\n",/
