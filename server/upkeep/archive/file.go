package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Manifest describes an archive. It is written last.
type Manifest struct {
	Partition  string    `json:"partition"`
	From       time.Time `json:"from"`
	To         time.Time `json:"to"`
	Rows       int64     `json:"rows"`
	File       string    `json:"file"`
	Bytes      int64     `json:"bytes"`       // of the file
	SHA256     string    `json:"sha256"`      // of the file
	PlainBytes int64     `json:"plain_bytes"` // uncompressed
	PlainSHA   string    `json:"plain_sha256"`
	ArchivedAt time.Time `json:"archived_at"`
}

const (
	suffix      = ".ndjson.zst"
	maxManifest = 1 << 16
	maxWindow   = 64 << 20 // memory of the decoder
)

// hashingWriter counts and hashes what is written through it.
type hashingWriter struct {
	to  io.Writer
	n   int64
	sum interface {
		io.Writer
		Sum([]byte) []byte
	}
}

func newHashingWriter(to io.Writer) *hashingWriter { return &hashingWriter{to: to, sum: sha256.New()} }

func (c *hashingWriter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	_, _ = c.sum.Write(b[:n]) // a hash never fails
	return n, err
}

func (c *hashingWriter) hex() string { return hex.EncodeToString(c.sum.Sum(nil)) }

// write writes the archive of a partition and overwrites an interrupted attempt.
func write(
	ctx context.Context,
	to Storage,
	p scoreboard.Partition,
	now time.Time,
	rows func(do func(lines []string) error) error,
) (*Manifest, error) {
	m := &Manifest{Partition: p.Name, From: p.From, To: p.To, File: p.Name + suffix, ArchivedAt: now.UTC()}
	err := to.Write(ctx, m.File, func(f io.Writer) error {
		packed := newHashingWriter(f)
		z, err := zstd.NewWriter(packed)
		if err != nil {
			return err
		}
		plain := newHashingWriter(z)
		err = rows(func(lines []string) error {
			for _, line := range lines {
				if _, err := io.WriteString(plain, line+"\n"); err != nil {
					return err
				}
			}
			m.Rows += int64(len(lines))
			return nil
		})
		if err := errors.Join(err, z.Close()); err != nil {
			return err
		}
		m.Bytes, m.SHA256, m.PlainBytes, m.PlainSHA = packed.n, packed.hex(), plain.n, plain.hex()
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = to.Write(ctx, m.File+".sha256", func(f io.Writer) error {
		_, err := fmt.Fprintf(f, "%s  %s\n", m.SHA256, m.File)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := m.verify(ctx, to); err != nil {
		return nil, err
	}
	err = to.Write(ctx, p.Name+".json", func(f io.Writer) error {
		e := json.NewEncoder(f)
		e.SetIndent("", "  ")
		return e.Encode(m)
	})
	return m, err
}

// findIntact returns the manifest of an existing archive, or nil if there is
// none. It returns errDamaged if the archive cannot be used.
func findIntact(ctx context.Context, at Storage, p scoreboard.Partition) (*Manifest, error) {
	m, err := readManifest(ctx, at, p.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return m, m.verify(ctx, at)
}

// readManifest returns the manifest of a partition's archive.
func readManifest(ctx context.Context, at Storage, partition string) (*Manifest, error) {
	f, err := at.Open(ctx, partition+".json")
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(f, maxManifest))
		_ = f.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("read the manifest of %s: %w", partition, err)
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil || m.Partition != partition || m.File != partition+suffix {
		return nil, fmt.Errorf("parse the manifest of %s: %w", partition, errors.Join(err, errDamaged))
	}
	return &m, nil
}

var errDamaged = errors.New("archive is damaged")

// verify reads the archive back and checks hash, compression and rows.
func (m *Manifest) verify(ctx context.Context, at Storage) error {
	return m.read(ctx, at, func([]byte) error { return nil })
}

// read calls do with parts of the uncompressed archive, and then checks hash, compression and
// rows.
func (m *Manifest) read(ctx context.Context, at Storage, do func(part []byte) error) error {
	f, err := at.Open(ctx, m.File)
	if err != nil {
		return fmt.Errorf("verify the archive of %s: %w", m.Partition, err)
	}
	defer func() { _ = f.Close() }()
	packed := newHashingWriter(io.Discard)
	z, err := zstd.NewReader(io.TeeReader(f, packed), zstd.WithDecoderMaxMemory(maxWindow))
	if err != nil {
		return fmt.Errorf("verify the archive of %s: %w", m.Partition, err)
	}
	defer z.Close()
	plain, rows := newHashingWriter(io.Discard), int64(0)
	buffer := make([]byte, 1<<20)
	for err == nil {
		var n int
		n, err = z.Read(buffer)
		rows += int64(bytes.Count(buffer[:n], []byte{'\n'}))
		_, _ = plain.Write(buffer[:n])
		if err := do(buffer[:n]); err != nil {
			return err
		}
	}
	if !errors.Is(err, io.EOF) {
		return fmt.Errorf("verify the archive of %s: %w: %w", m.Partition, errDamaged, err)
	}
	plainOK := rows == m.Rows && plain.n == m.PlainBytes && plain.hex() == m.PlainSHA
	if !plainOK || packed.n != m.Bytes || packed.hex() != m.SHA256 {
		return fmt.Errorf("verify the archive of %s: %w: got %d rows in %d bytes, want %d in %d",
			m.Partition, errDamaged, rows, packed.n, m.Rows, m.Bytes)
	}
	return nil
}
