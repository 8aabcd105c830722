using System;

var canvas = new Canvas(3);
Print(canvas.Area);

static void Print(int area)
{
    Console.WriteLine(area);
}

namespace Acme.Tool
{
    file class Hidden { }

    class Options
    {
        public string? Path { get; set; }
    }
}
