package widget

import (
	"io"
	"os"
	"testing"
)

var widths = []int{1, 2, 3}

type fakeDrawer struct{ calls int }

func (f *fakeDrawer) Draw(io.Writer) (int, error) {
	f.calls++
	return 0, nil
}

func TestMain(m *testing.M) {
	os.Exit(m.Run())
}

func TestNew(t *testing.T) {
	check := func(t *testing.T, width int) {
		t.Helper()
		if _, err := New(width); err != nil {
			t.Fatal(err)
		}
	}
	for _, width := range widths {
		t.Run("width", func(t *testing.T) { check(t, width) })
	}
}

func BenchmarkDraw(b *testing.B) {
	for range b.N {
		_ = Draw(io.Discard)
	}
}

func FuzzWidth(f *testing.F) { f.Add(1) }

func ExampleNew() {
	New(1)
	// Output:
}

func Testify(name string) string { return name }

func newFake(t *testing.T) *fakeDrawer {
	t.Helper()
	return &fakeDrawer{}
}
