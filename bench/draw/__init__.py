"""SVG that the report writes itself: frames, axes, marks, and the style sheets and scripts of its pages."""
