package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// What pictures may differ by. Each pixel of a stored picture is the mean of a square of the page, in
// which the edge of a letter counts for little, and a colour or a line for much.
const (
	square        = 4   // pixels of the page
	maxDifference = 4   // of a channel of a stored pixel, of 255
	maxDiffering  = 24  // stored pixels that differ by more
	maxMean       = 0.4 // difference of all channels of all stored pixels
)

// DebianFonts makes a browser see the fonts of Debian's package fonts-dejavu-core only.
func DebianFonts(t *testing.T) chromedp.ExecAllocatorOption {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fonts.conf")
	const fonts = `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
<dir>/usr/share/fonts/truetype/dejavu</dir><cachedir prefix="xdg">fontconfig</cachedir>
<match><edit name="family" mode="assign" binding="same"><string>DejaVu Sans</string></edit></match></fontconfig>`
	if err := os.WriteFile(file, []byte(fonts), 0o600); err != nil {
		t.Fatal(err)
	}
	return chromedp.Env("FONTCONFIG_FILE=" + file)
}

// ComparePicture compares a picture of a page, a PNG, with the one stored in a file, or stores it.
// If they differ, the picture of the page is left in the folder of temporary files.
func ComparePicture(t *testing.T, file string, picture []byte, update bool) {
	t.Helper()
	page, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	got := reduce(page)
	if update {
		store(t, file, got)
		return
	}
	stored, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; store it with -update", err)
	}
	want, err := png.Decode(bytes.NewReader(stored))
	if err != nil {
		t.Fatal(err)
	}
	if problem := differs(got, want); problem != "" {
		at := filepath.Join(os.TempDir(), filepath.Base(file))
		store(t, at, got)
		t.Errorf("%s: %s; the page is in %s. If that is meant, store it with -update", file, problem, at)
	}
}

// differs says how two reduced pictures differ; "" if they are alike.
func differs(got *image.RGBA, want image.Image) string {
	if got.Bounds() != want.Bounds() {
		return fmt.Sprintf("the size is %v, want %v", got.Bounds().Max, want.Bounds().Max)
	}
	sum, differing := 0, 0
	var first image.Point
	for y := range got.Bounds().Dy() {
		for x := range got.Bounds().Dx() {
			a, b := got.RGBAAt(x, y), color.RGBAModel.Convert(want.At(x, y)).(color.RGBA)
			largest := 0
			for _, d := range []int{int(a.R) - int(b.R), int(a.G) - int(b.G), int(a.B) - int(b.B)} {
				sum += max(d, -d)
				largest = max(largest, d, -d)
			}
			if largest > maxDifference {
				if differing == 0 {
					first = image.Pt(x*square, y*square)
				}
				differing++
			}
		}
	}
	mean := float64(sum) / float64(3*got.Bounds().Dx()*got.Bounds().Dy())
	if differing <= maxDiffering && mean <= maxMean {
		return ""
	}
	return fmt.Sprintf("%d squares differ, the first at %v, and the mean difference is %.2f; want at most %d and %.1f",
		differing, first, mean, maxDiffering, maxMean)
}

// reduce returns a picture with one pixel for each square.
func reduce(page image.Image) *image.RGBA {
	size := page.Bounds().Size().Div(square)
	out := image.NewRGBA(image.Rectangle{Max: size})
	for y := range size.Y {
		for x := range size.X {
			var r, g, b uint32
			for i := range square * square {
				cr, cg, cb, _ := page.At(x*square+i%square, y*square+i/square).RGBA()
				r, g, b = r+cr>>8, g+cg>>8, b+cb>>8
			}
			const n = square * square
			out.SetRGBA(x, y, color.RGBA{uint8(r / n), uint8(g / n), uint8(b / n), 255})
		}
	}
	return out
}

func store(t *testing.T, file string, picture image.Image) {
	t.Helper()
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
