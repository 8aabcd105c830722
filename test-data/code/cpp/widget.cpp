/*
 * widget.cpp
 */
#include "widget.hpp"

namespace {

/// Only here.
int counter = 0;

void tick() {
    ++counter;
}

}  // namespace

using namespace std::string_literals;

namespace ui {

/// Resets it.
void Drawable::reset() {
    dirty_ = false;
}

double Point::length() const { return x * x + y * y; }

template <typename T, int N>
Widget<T, N>::Widget() : Widget(0) {}

template <typename T, int N>
Widget<T, N>::~Widget() {
    tick();
}

template <typename T, int N>
void Widget<T, N>::Options::apply(Widget &to) const {
    auto local = [&](int by) { to.grow(by); };
    local(padding);
}

/// A class of this file, with its methods outside it.
class Panel {
public:
    Panel();
    void draw(int x);
    void draw(double x);
    static int made;
};

int Panel::made = 0;

Panel::Panel() = default;

void Panel::draw(int x) {
    tick();
}

void Panel::draw(double x) {
    tick();
}

int detail::impl::hidden(int a) { return a; }

}  // namespace ui

static void draw() {}

template <>
struct std::hash<ui::Point> {
    size_t operator()(const ui::Point &point) const noexcept {
        return 1;
    }
};

ui::Point operator+(const ui::Point &a, const ui::Point &b) {
    return {a.x + b.x, a.y + b.y};
}

std::string größe(int n) { return "groß"s; }

int ui_version(void) { return UI_VERSION; }

int main(int argc, char **argv) try {
    return ui_version();
} catch (const std::exception &error) {
    return 1;
}
