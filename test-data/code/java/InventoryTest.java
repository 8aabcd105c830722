package org.example.inventory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class InventoryTest {
    private Inventory<Inventory.Pallet> inventory;

    @BeforeEach
    void setUp() {
        inventory = null;
    }

    @Test
    void startsEmpty() {
        assertEquals(0, 0);
    }

    @ParameterizedTest(name = "{0} items")
    @ValueSource(ints = {1, 2, 3})
    public void adds(int count) {
        assertEquals(count, count);
    }

    @Nested
    class WhenFull {
        @org.junit.jupiter.api.Test
        void refuses() {}
    }
}

/** Makes what tests need. */
class Fixtures {
    static Inventory.Pallet pallet() {
        return new Inventory.Pallet("p", 1);
    }
}
