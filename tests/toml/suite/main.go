// SPDX-License-Identifier: Apache-2.0

// Runs every TOML 1.0 case of toml-test against our decoder and encoder.
//
//	toml-test-runner DECODER ENCODER
//
// The suite's own command cannot be imported, and installing it would need a tool outside of
// the build; its library does all the work here.
package main

import (
	"fmt"
	"os"
	"time"

	tomltest "github.com/toml-lang/toml-test"
)

// The suite must not shrink unnoticed: v1.6.0 has this many cases for TOML 1.0.
const fewestDecoderCases, fewestEncoderCases = 556, 185

func run(program string, encoder bool, fewest int) bool {
	files := tomltest.EmbeddedTests()
	tests, err := tomltest.Runner{
		Files:    files,
		Encoder:  encoder,
		Parser:   tomltest.NewCommandParser(files, []string{program}),
		Version:  "1.0.0",
		Parallel: 2,
		Timeout:  20 * time.Second,
	}.Run()
	if err != nil {
		fmt.Println(err)
		return false
	}
	for _, t := range tests.Tests {
		if t.Failed() {
			fmt.Printf("FAIL %s\n  %s\n--- input\n%s\n--- output\n%s\n--- want\n%s\n",
				t.Path, t.Failure, t.Input, t.Output, t.Want)
		}
	}
	passed := tests.PassedValid + tests.PassedInvalid
	failed := tests.FailedValid + tests.FailedInvalid
	fmt.Printf("%s: %d passed (%d valid, %d invalid), %d failed, %d skipped\n", program, passed,
		tests.PassedValid, tests.PassedInvalid, failed, tests.Skipped)
	return failed == 0 && tests.Skipped == 0 && passed >= fewest
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: toml-test-runner DECODER ENCODER")
		os.Exit(64)
	}
	decoded := run(os.Args[1], false, fewestDecoderCases)
	encoded := run(os.Args[2], true, fewestEncoderCases)
	if !decoded || !encoded {
		os.Exit(1)
	}
}
