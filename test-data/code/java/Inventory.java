/*
 * Copyright 2026 The Inventory Authors.
 * SPDX-License-Identifier: MIT
 */
package org.example.inventory;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * Keeps what is in stock.
 *
 * @param <T> the items
 */
@SuppressWarnings({"unchecked", "rawtypes"})
public abstract class Inventory<T extends Inventory.Item> implements AutoCloseable, Iterable<T> {
    /** The most items. */
    public static final int MOST = 1_000;
    private static final List<String> UNITS = List.of("kg", "g", "lb", "a long unit", "an even longer unit");
    static final String[] NAMES = {
        "one",
        "two",
    };

    protected int width, height;
    @Deprecated private volatile boolean isClosed;
    final Function<T, String> label = item -> {
        class Labels {
            String of(T it) { return it.toString(); }
        }
        return new Labels().of(item);
    };

    static {
        System.loadLibrary("inventory");
    }

    public Inventory() {
        this(10);
    }

    @SafeVarargs
    protected Inventory(int width, T... items) {
        this.width = width;
    }

    // Adds one.
    public void add(T item) throws InventoryException {
        add(item, 1);
    }

    /**
     * Adds several.
     */
    // Kept for old callers.
    @Deprecated
    public <N extends Number> void add(T item, N count) {
        Runnable later = new Runnable() {
            @Override
            public void run() {
                height++;
            }
        };
        later.run();
    }

    public int height() { return height; }

    protected abstract List<T> find(
        String name, // its name
        int most);

    native long handle();

    private static <A, B> B apply(Function<A, B> function, A value) {
        return function.apply(value);
    }

    @Override
    public void close() {}

    /** An item. */
    public interface Item {
        String DEFAULT_NAME = "item";

        String name();

        default int größe() {
            return 1;
        }

        private void check() {}
    }

    public record Pallet(String name, int count) implements Item {
        static int made;

        public Pallet {
            if (count < 0) throw new IllegalArgumentException();
        }

        Pallet(String name) {
            this(name, 1);
        }
    }

    enum Operation {
        /** Adds. */
        PLUS {
            @Override int apply(int a, int b) {
                return a + b;
            }
        },
        MINUS("-") {
            @Override int apply(int a, int b) { return a - b; }
        },
        NONE;

        private final String sign;

        Operation() { this("+"); }

        Operation(String sign) { this.sign = sign; }

        abstract int apply(int a, int b);
    }

    private static class Node<E> {
        E value;

        class Inner {
            void deep() {}
        }
    }

    /** Marks what is stored. */
    public @interface Stored {
        String value() default "";

        int[] levels() default {1, 2};
    }
}

class InventoryException extends Exception {
    InventoryException(String message) { super(message); }
}

sealed interface Shape permits Circle, Other {}

record Circle(double radius) implements Shape {}

final class Other implements Shape {
    int a = 1, b[] = {2};

    int b() { return b[0]; }
}
