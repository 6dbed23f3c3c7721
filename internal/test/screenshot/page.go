package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// page takes a picture of a page in a headless Chromium.
func page(args []string) error {
	flags := flag.NewFlagSet("page", flag.ContinueOnError)
	width := flags.Int64("width", 1280, "width of the window, in pixels")
	height := flags.Int64("height", 800, "height of the window, in pixels")
	scale := flags.Float64("scale", 1, "device pixels for each pixel")
	theme := flags.String("theme", "light", "light or dark")
	wait := flags.Duration("wait", time.Second, "time between the load and the picture")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return errors.New("usage: screenshot page [flags] URL FILE.png")
	}
	return shoot(flags.Arg(0), flags.Arg(1), *theme, *width, *height, *scale, *wait)
}

// pageTimeout bounds a picture.
const pageTimeout = time.Minute

func shoot(url, file, theme string, width, height int64, scale float64, wait time.Duration) error {
	o := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.Flag("disable-dev-shm-usage", true))
	if os.Geteuid() == 0 {
		o = append(o, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), o...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	var picture []byte
	err := chromedp.Run(ctx,
		emulation.SetDeviceMetricsOverride(width, height, scale, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: theme},
		}),
		chromedp.Navigate(url), chromedp.Sleep(wait), chromedp.CaptureScreenshot(&picture))
	if err != nil {
		return fmt.Errorf("take a picture of %s: %w", url, err)
	}
	return os.WriteFile(file, picture, 0o644) //nolint:gosec // a picture for the documentation
}
