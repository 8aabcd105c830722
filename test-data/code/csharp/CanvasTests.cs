using Xunit;

namespace Acme.Drawing.Tests;

public class CanvasTests : IDisposable
{
    private readonly Canvas canvas = new(3);

    public void Dispose() => canvas.Dispose();

    // It is a square.
    [Fact]
    public void HasAnArea()
    {
        Assert.Equal(9, canvas.Area);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public void Grows(int by)
    {
        Assert.True(by > 0);
    }
}

[TestFixture]
internal class Fixtures
{
    [NUnit.Framework.Test]
    public void Works() { }

    static Canvas Make()
    {
        return new Canvas(1);
    }
}

/// <summary>Makes what tests need.</summary>
public static class Maker
{
    public static Canvas Make() => new(1);
}
