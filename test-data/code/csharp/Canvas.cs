// <copyright file="Canvas.cs">Copyright 2026 The Canvas Authors</copyright>

using System;
using System.Collections;
using System.Collections.Generic;

[assembly: CLSCompliant(true)]

namespace Acme.Drawing
{
    /// <summary>Hears of strokes.</summary>
    public delegate void StrokeHandler(
        object sender,
        Stroke stroke);

    /// <summary>
    /// A stroke.
    /// </summary>
    [Serializable]
    public readonly record struct Stroke(double Length, Color Color = Color.Black);

    public enum Color : byte
    {
        Black,
        Größe,
    }

    public interface IShape<out T> : IDisposable where T : struct
    {
        string Name { get; }
        event EventHandler Changed;
        T this[int index] { get; }

        /// <summary>Draws it.</summary>
        void Draw(Canvas canvas);

        void Reset() => Dispose();
    }

    internal static class Extensions
    {
        public static void DrawAll<T>(this IEnumerable<IShape<T>> shapes, Canvas canvas)
            where T : struct
        {
            foreach (var shape in shapes) shape.Draw(canvas);
        }
    }

    /// <summary>What is drawn on.</summary>
    [Obsolete("Use Surface")]
    [Serializable]
    public sealed partial class Canvas : IShape<int>, IEnumerable<Stroke>
    {
        public const int MaxWidth = 4096;
        private static readonly Dictionary<string, Color> Named = new()
        {
            ["black"] = Color.Black,
        };
        private readonly List<Stroke> strokes = new();
        int width, height;

        static Canvas() { }

        public Canvas(int width)
            : this(width, width)
        {
        }

        internal Canvas(int width, int height)
        {
            this.width = width;
            this.height = height;
        }

        ~Canvas()
        {
            Dispose();
        }

        public event EventHandler Changed;

        public event StrokeHandler Stroked
        {
            add { }
            remove { }
        }

        #region Properties
        public string Name { get; init; } = "canvas";

        /// <summary>Its area.</summary>
        public int Area => width * height;

        protected internal int Width
        {
            get => width;
            private set
            {
                width = Math.Min(value, MaxWidth);
            }
        }
        #endregion

        public int this[int index] => index;

        public int this[int x, int y]
        {
            get { return x * y; }
        }

        public static Canvas operator +(Canvas left, Canvas right) => new(left.width + right.width);

        public static bool operator ==(Canvas left, Canvas right)
        {
            return left.Equals(right);
        }

        public static implicit operator string(Canvas canvas) => canvas.Name;

        public static explicit operator int(Canvas canvas) => canvas.Area;

        public void Draw(Canvas canvas)
        {
            int Twice(int value) => value * 2;

            Action<int> log = value =>
            {
                void Inner() { }
                Inner();
            };
            log(Twice(1));
        }

        public void Draw(Canvas canvas, Color color) => Draw(canvas);

        void IShape<int>.Draw(Canvas canvas) => Draw(this);

        IEnumerator IEnumerable.GetEnumerator() => strokes.GetEnumerator();

        public IEnumerator<Stroke> GetEnumerator()
        {
            foreach (var stroke in strokes)
            {
                yield return stroke;
            }
        }

        public void Dispose() { }

        private async Task<T> LoadAsync<T>(string path, CancellationToken token = default)
            where T : class, new()
        {
            await Task.Yield();
            return new T();
        }

        class Layer
        {
            public int Depth;

            internal struct Pixel
            {
                int value;
            }
        }
    }
}
