#if !NETCOREAPP && !NETSTANDARD2_1 && !NET_STANDARD_2_1
namespace System.Diagnostics.CodeAnalysis
{
    /// <summary>
    /// Marks what may be null although its type is a class, for compilers that check it (C# 8). .NET Standard 2.0 has
    /// no such attribute; compilers know it by its name.
    /// </summary>
    [AttributeUsage(AttributeTargets.Property | AttributeTargets.ReturnValue)]
    internal sealed class MaybeNullAttribute : Attribute
    {
    }
}
#endif
