package main

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// decimal is an integer flag that reads decimal numbers only. pflag takes 010 for 8 and
// 0x10 for 16.
type decimal struct{ pflag.Value }

// Set implements pflag.Value.
func (d decimal) Set(text string) error {
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return d.Value.Set(strconv.FormatUint(n, 10)) // without leading zeros
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return errors.New("must be a decimal integer")
	}
	return d.Value.Set(strconv.FormatInt(n, 10))
}

// decimalFlags makes the integer flags of a command and its subcommands decimal.
func decimalFlags(cmd *cobra.Command) {
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			switch f.Value.Type() {
			case "int", "int64", "uint64":
				f.Value = decimal{f.Value}
			}
		})
	}
	for _, sub := range cmd.Commands() {
		decimalFlags(sub)
	}
}
