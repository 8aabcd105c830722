<?php
namespace Tests {

use PHPUnit\Framework\TestCase;

class UserTest extends TestCase
{
    private User $user;

    protected function setUp(): void
    {
        $this->user = new User(1);
    }

    public function testName(): void
    {
        self::assertSame('', $this->user->name());
    }

    #[Test]
    public function it_saves(): void {}
}

}

namespace {
    function bootstrap(): void {}
}
