// Package browser opens pages in a headless Chromium for tests.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// New starts a browser that ends with the test, or after the timeout. Without Chromium the
// test is skipped, and fails in CI.
func New(t *testing.T, timeout time.Duration, options ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("Chromium is not installed: run make setup")
		}
		fmt.Fprintf(os.Stderr, "!!! %s SKIPPED: requires Chromium (on Debian: the package chromium)\n", t.Name())
		t.Skip("requires Chromium")
	}
	o := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.WSURLReadTimeout(timeout), chromedp.Flag("disable-dev-shm-usage", true))
	if os.Geteuid() == 0 {
		o = append(o, chromedp.NoSandbox) // as root it only runs without one
	}
	o = append(o, options...)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), o...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, timeout)
	t.Cleanup(cancel)
	return ctx
}
