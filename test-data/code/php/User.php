<?php

/**
 * Part of the shop.
 *
 * @license MIT
 */

declare(strict_types=1);

namespace App\Models;

use App\Contracts\HasName;
use InvalidArgumentException;

/** The longest name. */
const LONGEST = 100;
const SHORT = 1, LONG = 2;

/**
 * A user.
 */
#[Entity(table: 'users')]
#[Index('name')]
final class User extends Model implements HasName
{
    use SoftDeletes;

    public const TABLE = 'users';
    private const COLUMNS = [
        'id',
        'name',
    ];

    /** The name. */
    private ?string $name = null;
    protected int $logins = 0, $failures = 0;
    public static array $defaults = [
        'a' => 1,
    ];

    // Makes one.
    public function __construct(
        private readonly int $id,
        string $name = '',
    ) {
        $this->name = $name;
    }

    /** {@inheritdoc} */
    public function name(): string
    {
        $clip = function (string $text): string {
            return substr($text, 0, LONGEST);
        };
        return $clip($this->name ?? '');
    }

    #[Pure]
    public static function create(int $id): self { return new self($id); }

    private function größe(): int
    {
        function helper() { return 1; }
        return helper();
    }
}

interface Named extends HasName
{
    const WIDTH = 1;
    public function name(): string;
}

abstract class Model
{
    abstract protected function name(): string;

    public function save(): void {}
}

trait SoftDeletes
{
    private bool $deleted = false;

    public function delete(): void
    {
        $this->deleted = true;
    }
}

/** The suits. */
enum Suit: string
{
    case Hearts = 'H';
    /** The black ones. */
    case Spades = 'S';

    const Wild = self::Spades;

    public function label(): string
    {
        return ucfirst(strtolower($this->name));
    }
}

/**
 * Says it.
 */
function greet(User $user): string
{
    return "Hello, {$user->name()}";
}

if (!function_exists('dump')) {
    function dump(mixed $value): void { var_dump($value); }
}

$x = new class { public function run(): void {} };
