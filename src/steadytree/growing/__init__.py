"""Growing trees from data: bootstrap collections, CART, distillation from a teacher."""
