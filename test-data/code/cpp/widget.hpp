// Copyright (c) 2026 The Widget Authors.
// Licensed under the MIT licence.

#pragma once

#include <memory>
#include <string>
#include <vector>

#define UI_VERSION 3

namespace ui {

class Canvas;

/// The kinds of a widget.
enum class Kind : unsigned char {
    Plain,
    Fancy,
};

/**
 * A thing that can be drawn.
 */
class Drawable {
public:
    virtual ~Drawable() = default;
    /// Draws it.
    virtual void draw(Canvas &canvas) const = 0;

protected:
    bool dirty() const { return dirty_; }

private:
    void reset();
    bool dirty_ = false;
};

/// A widget of any content.
template <typename T, int N = 1>
class [[nodiscard]] Widget final : public Drawable {
    int width_;
    void grow(int by);

public:
    using value_type = T;
    static constexpr int most = 8;

    Widget();
    explicit Widget(int width, T value = {})
        : width_(width),
          value_(std::move(value)) {
        grow(0);
    }
    Widget(const Widget &) = delete;
    ~Widget() override;

    void draw(Canvas &canvas) const override;
    Widget &operator=(const Widget &other) = delete;
    bool operator==(const Widget &other) const { return width_ == other.width_; }
    explicit operator bool() const { return width_ > 0; }

    /// Maps the content.
    template <class F>
    auto map(F f) const -> Widget<decltype(f(value_))> {
        return Widget<decltype(f(value_))>(width_, f(value_));
    }

#ifdef UI_DEBUG
    void dump() const;
#endif

    struct Options {
        int padding = 0;
        void apply(Widget &to) const;
    };

    friend void swap(Widget &one, Widget &other);

private:
    T value_;
    struct Cache;
    void touch() const {}
};

struct Point {
    int x, y;
    double length() const;
  private:
    int hash() const { return x ^ y; }
};

union Word {
    unsigned int all;
    unsigned char bytes[4];
};

template <typename T>
concept Shown = requires(T t) { t.draw(); };

template <typename T> T twice(T value);
using Widgets = std::vector<std::unique_ptr<Drawable>>;
inline constexpr int kMost = 16;

namespace detail::impl {
int hidden(int a);
}  // namespace detail::impl

}  // namespace ui

extern "C" int ui_version(void);
