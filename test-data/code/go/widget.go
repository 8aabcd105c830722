// Copyright 2026 The Widget Authors. All rights reserved.
// Use of this source code is governed by an MIT license.

//go:build !windows

// Package widget draws widgets.
package widget

import (
	"errors"
	"fmt"
	"io"
)

// Widest is the widest that a widget may be.
const Widest = 80

// The kinds of widgets.
const (
	// Round is the first kind.
	Round Kind = iota
	Square // with four corners

	// hidden is for tests.
	hidden
)

var ErrClosed = errors.New("widget: closed")

var (
	registry       = map[string]func() Drawer{}
	first, Second  int
	_ Drawer       = (*Widget)(nil)
	// Names of all kinds.
	Names = map[Kind]string{
		Round:  "round",
		Square: "square",
	}
)

var _ fmt.Stringer = Kind(0)

// Kind is a kind of widget.
type Kind int

type (
	// Option changes a widget.
	Option func(*Widget) error

	pair[K comparable, V any] struct {
		key   K
		value V
	}

	// Handler hears of it.
	Handler = func(
		widget *Widget,
		kind Kind,
	) error
)

// Drawer draws.
type Drawer interface {
	fmt.Stringer
	// Draw writes it.
	Draw(w io.Writer) (int, error)
	reset()
	Resize(
		width int,
		height int,
	) error
}

// Number is any number.
type Number interface {
	~int | ~float64
}

// Widget is a widget.
type Widget struct {
	Width int `json:"width"`
	inner []Drawer
	on    struct {
		close func()
	}
}

type Empty struct{}

// New makes a widget.
func New(width int, options ...Option) (*Widget, error) {
	widget := &Widget{Width: width}
	apply := func(option Option) error {
		return option(widget)
	}
	for _, option := range options {
		if err := apply(option); err != nil {
			return nil, fmt.Errorf("new: %w", err)
		}
	}
	type local struct{ n int }
	return widget, nil
}

// Draw draws it.
//
//nolint:errcheck
func (w *Widget) Draw(out io.Writer) (int, error) {
	return fmt.Fprint(out, w.Width)
}

func (w Widget) String() string { return "widget" }

func (w *Widget) reset() {
	w.inner = nil
}

func (Kind) String() string { return "kind" }

// Draw draws without a widget.
func Draw(out io.Writer) error {
	_, err := (&Widget{}).Draw(out)
	return err
}

// Map maps.
func Map[T, U any](
	items []T, // what there is
	f func(T) U,
) []U {
	var mapped []U
	for _, item := range items {
		mapped = append(mapped, f(item))
	}
	return mapped
}

// Put is of a type that is elsewhere.
func (s *Stack[T]) Put(item T) { s.items = append(s.items, item) }

func (s *größe) Größer() bool { return true }

var OnClose = func(widget *Widget) {
	widget.on.close()
}

func init() { registry["widget"] = nil }

func init() {
	registry["other"] = nil
}
