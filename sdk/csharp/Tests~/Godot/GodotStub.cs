// A small stand-in for the parts of Godot that the add-on uses: enough to compile and start it, and nothing to draw.
using System;
using System.Collections.Generic;

namespace Godot
{
    [AttributeUsage(AttributeTargets.Class)]
    public sealed class GlobalClassAttribute : Attribute
    {
    }

    [AttributeUsage(AttributeTargets.Property)]
    public sealed class ExportAttribute : Attribute
    {
    }

    public class Node
    {
        public readonly List<Node> Children = new List<Node>();

        public string Name { get; set; } = "";

        public virtual void _Ready()
        {
        }

        public virtual void _ExitTree()
        {
        }

        public void AddChild(Node child)
        {
            Children.Add(child);
        }

        public T GetNode<T>(string path)
            where T : Node
        {
            return (T)Children.Find(c => c.Name == path);
        }
    }

    public class VBoxContainer : Node
    {
    }

    public class Label : Node
    {
        public string Text { get; set; } = "";
    }
}
