"""A queue whose blocks end with comments."""


class Queue:
    def put(self, item):
        self.items.append(item)
        # The oldest goes first.
    # Takes the oldest.
    def take(self):
        return self.items.pop(0)
        # There is none left: the caller sees the error.

def drain(queue):
    while queue.items:
        queue.take()
    # Nothing waits now.
def fill(queue, items):
    for item in items:
        queue.put(item)
# The usual one.
def default():
    return Queue()
