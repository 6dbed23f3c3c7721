// Command pageshot takes pictures of pages in a headless Chromium, for the documentation.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

func main() {
	width := flag.Int64("width", 1280, "width of the window, in pixels")
	height := flag.Int64("height", 800, "height of the window, in pixels")
	scale := flag.Float64("scale", 1, "device pixels for each pixel")
	theme := flag.String("theme", "light", "light or dark")
	wait := flag.Duration("wait", time.Second, "time between the load and the picture")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: pageshot [flags] URL FILE.png")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	if err := shoot(flag.Arg(0), flag.Arg(1), *theme, *width, *height, *scale, *wait); err != nil {
		fmt.Fprintln(os.Stderr, "pageshot:", err)
		os.Exit(1)
	}
}

// timeout bounds a picture.
const timeout = time.Minute

func shoot(url, file, theme string, width, height int64, scale float64, wait time.Duration) error {
	o := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.Flag("disable-dev-shm-usage", true))
	if os.Geteuid() == 0 {
		o = append(o, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), o...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, timeout)
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
