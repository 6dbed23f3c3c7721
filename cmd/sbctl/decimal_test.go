package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every flag for a whole number reads 010 as ten, and rejects the forms of other bases.
func TestNumbersAreDecimal(t *testing.T) {
	t.Parallel()
	found := make(map[string]bool)
	forEachCommand(newRootCmd(newProgram(&process{})), func(cmd *cobra.Command) {
		for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
			flags.VisitAll(func(f *pflag.Flag) {
				kind := f.Value.Type()
				if !strings.HasPrefix(kind, "int") && !strings.HasPrefix(kind, "uint") {
					return
				}
				found[kind] = true
				if err := f.Value.Set("010"); err != nil || f.Value.String() != "10" {
					t.Errorf("%s --%s 010: got %s, %v, want 10", cmd.CommandPath(), f.Name, f.Value, err)
				}
				for _, text := range []string{"0x10", "0o10", "0b10", "1_0"} {
					if f.Value.Set(text) == nil {
						t.Errorf("%s --%s %s: got %s, want an error", cmd.CommandPath(), f.Name, text, f.Value)
					}
				}
			})
		}
	})
	for _, kind := range []string{"int", "int64", "uint64"} {
		if !found[kind] {
			t.Errorf("no flag is an %s", kind)
		}
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Uint64("seed", 0, "")
	seed := decimal{flags.Lookup("seed").Value}
	for _, text := range []string{"18446744073709551615", "0"} {
		if err := seed.Set(text); err != nil || seed.String() != text {
			t.Errorf("%s: got %s, %v", text, seed, err)
		}
	}
	if seed.Set("-1") == nil {
		t.Error("a seed below 0 is accepted")
	}
}
